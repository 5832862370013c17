// Close: the end of a connection. It keeps whether the application asked to close, whether the
// close frame was sent and acknowledged, the final close frames that are still to be sent, and the
// outcome that is reported when the last receive has ended. The connection sends the frames.
#pragma once

#include <cstdint>
#include <utility>

#include "base/nanos.h"
#include "base/result.h"
#include "transport/wire/control.h"

namespace heddle::transport {

class Close {
 public:
  // --- a graceful close ---
  // The application asked for it; it has until `deadline`.
  void request(Nanos deadline) {
    requested_ = true;
    deadline_ = deadline;
  }
  bool requested() const { return requested_; }
  Nanos deadline() const { return deadline_; }
  // Whether the close frame is still to be sent; it waits for every posted send.
  bool frame_due(uint32_t sends_posted) const;
  void note_frame_sent() { frame_sent_ = true; }
  bool frame_sent() const { return frame_sent_; }
  void note_frame_acked() { frame_acked_ = true; }
  bool frame_acked() const { return frame_acked_; }

  // --- final close frames, which leave when the connection is over ---
  // A lost one is not retransmitted: the peer gets a reset when it next sends something.
  void queue_final_frames(CloseReason reason, uint8_t packets);
  CloseReason final_reason() const { return final_reason_; }
  uint8_t final_frames_left() const { return final_frames_left_; }
  void note_final_frame_sent() { --final_frames_left_; }

  // --- the outcome ---
  void end(bool graceful, Error error);
  bool graceful() const { return graceful_; }
  ErrorCode error_code() const { return error_.code; }
  Error take_error() { return std::move(error_); }
  // Receives end later, when nothing can be written to their buffers any more.
  void set_draining(bool draining) { draining_ = draining; }
  bool draining() const { return draining_; }
  // A connection that is over and has nothing left to do may be destroyed.
  bool complete() const { return final_frames_left_ == 0 && !draining_; }

 private:
  bool requested_ = false;
  bool frame_sent_ = false;
  bool frame_acked_ = false;
  bool graceful_ = false;
  bool draining_ = false;
  uint8_t final_frames_left_ = 0;
  CloseReason final_reason_ = CloseReason::kAborted;
  Nanos deadline_ = Nanos::never();
  Error error_;
};

}  // namespace heddle::transport
