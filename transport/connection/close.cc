// When the close frame leaves, and what follows it.
#include "transport/connection/close.h"

namespace heddle::transport {

bool Close::frame_due(uint32_t sends_posted) const {
  return requested_ && !frame_sent_ && sends_posted == 0;
}

void Close::queue_final_frames(CloseReason reason, uint8_t packets) {
  final_reason_ = reason;
  final_frames_left_ = packets;
}

void Close::end(bool graceful, Error error) {
  graceful_ = graceful;
  error_ = std::move(error);
}

}  // namespace heddle::transport
