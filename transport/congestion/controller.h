// Controller: a congestion controller. It gets samples only and answers with a window and a pacing
// rate. One is made per connection by name (registry.h). To add one: its own file, its test, one
// line in registry.cc.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::transport {

// One acknowledgement, for one path.
struct AckSample {
  Nanos sent_at;               // of the newest segment that it newly acknowledges
  Bytes acked;                 // newly acknowledged, headers included
  Bytes marked;                // of these, arrived with a congestion mark
  Nanos rtt;                   // network only: without the time at the receiving host
  Nanos min_rtt;               // of the connection, lowest seen
  Nanos smoothed_rtt;          // of the connection
  Bytes in_flight;             // of the connection before this acknowledgement
  uint32_t active_paths = 1;   // paths in use
  bool others_clean = false;   // no other path saw loss, marks or rising delay in a round trip
  bool window_limited = true;  // the sender had more to send than the window let out
};

// Segments of one path declared lost.
struct LossSample {
  Nanos sent_at;  // of the newest lost segment: one reduction per round trip
  Bytes lost;
  Bytes in_flight;  // of the connection, lost ones excluded
  Nanos smoothed_rtt;
  uint32_t active_paths = 1;
  bool others_clean = false;  // then the path is the selector's first: reduce by its share only
  bool timeout = false;       // found by a timeout, not by a gap
  bool path_failure = false;  // the path is suspect: not a sign of congestion elsewhere
};

class Controller {
 public:
  virtual ~Controller() = default;

  virtual void on_ack(Nanos now, const AckSample& sample) = 0;
  virtual void on_loss(Nanos now, const LossSample& sample) = 0;
  // The latest reduction proved needless (the originals had arrived): it may be restored.
  virtual void on_spurious_loss(Nanos now) = 0;

  // What may be in flight; at least two segments, never above the limit given at creation.
  virtual Bytes window() const = 0;
  // At what rate it may leave; zero: not paced.
  virtual BitsPerSec pacing_rate() const = 0;
  // The largest burst that may leave at once, besides what the pacer allows; where it is below one
  // segment, one segment. Controllers that steer by short queues need bursts shorter than those.
  virtual Bytes burst_limit() const { return {UINT64_MAX}; }
};

// What a controller is made with.
struct ControllerOptions {
  Bytes segment;         // a full segment with headers
  Bytes initial_window;  // 10 segments (RFC 6928) unless the caller knows better
  Bytes limit;           // the window never grows above it
};

}  // namespace heddle::transport
