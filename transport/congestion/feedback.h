// CongestionFeedback: the samples of acknowledgements and losses that the congestion controller
// gets. It leaves out losses that are noise, allows a little trimming, records which paths saw
// congestion lately, and takes a reduction back when its losses were spurious. Driven by the send
// controller.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"
#include "events/events.h"
#include "transport/congestion/controller.h"
#include "transport/congestion/loss_noise.h"

namespace heddle::transport {

// A loss on one path: what the controller's sample does not contain.
struct PathLoss {
  uint16_t path = 0;
  events::LossCause cause = events::LossCause::kGap;
  Nanos latest_rtt;  // of the path
  Nanos min_rtt;     // of the connection
  uint32_t segments = 0;
  uint32_t segment_bytes = 0;  // of the largest datagram
};

class CongestionFeedback {
 public:
  // An acknowledgement reports `new_marks` more marked packets. Comes before on_ack().
  void on_marks(Nanos now, uint16_t path, uint16_t new_marks) {
    marks_ += new_marks;
    if (new_marks != 0) note_trouble(now, path);
  }
  // Bytes were newly acknowledged. `sample`: complete but for others_clean.
  void on_ack(Nanos now, uint16_t path, Controller& controller, AckSample& sample);
  // `sample`: complete but for others_clean; no bytes: only size probes or control packets.
  void on_loss(Nanos now, const PathLoss& loss, Controller& controller, LossSample& sample);
  // Packets that were declared lost have arrived.
  void on_spurious(Nanos now, uint64_t segments, Controller& controller);

  uint64_t marks() const { return marks_; }

 private:
  // Losses of packets that left before the last reduction belong to one episode.
  struct Episode {
    Nanos began;
    uint32_t lost = 0;      // segments
    uint32_t spurious = 0;  // of these, segments that had arrived
  };
  // The latest two paths with losses or marks, and when.
  struct Trouble {
    uint16_t path = 0;
    Nanos at;
    Nanos other_at;
  };
  // Bytes trimmed in the current round trip.
  struct Trimmed {
    Nanos until;
    Bytes bytes;
  };

  void note_trouble(Nanos now, uint16_t path);
  bool others_clean(Nanos now, uint16_t path, uint32_t active_paths, Nanos smoothed_rtt) const;
  bool few_trimmed(Nanos now, const LossSample& sample, Bytes window);
  bool is_noise(Nanos now, const PathLoss& loss, const LossSample& sample, Bytes window);

  LossNoise noise_;
  Episode episode_;
  Trouble trouble_;
  Trimmed trimmed_;
  uint64_t marks_ = 0;
};

}  // namespace heddle::transport
