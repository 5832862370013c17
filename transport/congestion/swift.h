// Swift: the delay-based controller, after "Swift: Delay is Simple and Effective for Congestion
// Control in the Datacenter" (Kumar et al., SIGCOMM 2020), Algorithm 1: one additive increase a
// round trip while the delay is below a target, one decrease a round trip above it. Congestion
// marks are ignored.
//
// The paper's operator sets the target for the whole fleet. Here it follows from the lowest round
// trip that the connection has seen, so that one setting serves 10 us and several ms. That brings
// back what a common target avoids: who joins late takes the queue that stands for part of the
// fabric, aims higher and pushes the others out. Hence a decrease here does not stop at the target
// but empties the queue: every flow cuts in the same round trip, so every flow sees the true lowest
// round trip soon after.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/nanos.h"
#include "transport/congestion/congestion_window.h"
#include "transport/congestion/controller.h"
#include "transport/congestion/fixed_point.h"
#include "transport/congestion/reduction.h"
#include "transport/params.h"

namespace heddle::transport {

class Swift final : public Controller {
 public:
  explicit Swift(const ControllerOptions& options);

  void on_ack(Nanos now, const AckSample& sample) override;
  void on_loss(Nanos now, const LossSample& sample) override;
  void on_spurious_loss(Nanos now) override;
  Bytes window() const override { return {state_.window.bytes()}; }
  BitsPerSec pacing_rate() const override { return pacing_rate_; }
  Bytes burst_limit() const override;

  // The delay at which a window of these bytes neither grows nor shrinks, on a fabric whose
  // lowest round trip is `min_rtt`: that and the queue it may keep, more for a small window (the
  // paper's flow scaling).
  static Nanos target_delay(Nanos min_rtt, uint64_t window_bytes, uint64_t segment_bytes);

 private:
  // What a reduction changes and an undo brings back.
  struct State {
    CongestionWindow window;
    bool slow_start = true;
  };
  static constexpr size_t kRecent = params::swift::kRecent;

  Nanos lowest_recent(Nanos rtt);
  void reduce(Nanos now, const CongestionSign& sign, uint32_t keep, bool loss);
  void grow(const AckSample& sample);
  void set_pacing_rate();

  State state_;
  State before_;  // the latest reduction
  Reduction reduction_;
  Carry carry_;
  std::array<Nanos, kRecent> recent_;  // the latest round trips, in a ring
  uint32_t next_recent_ = 0;
  Nanos smoothed_rtt_;
  BitsPerSec pacing_rate_;
};

std::unique_ptr<Controller> make_swift(const ControllerOptions& options);

}  // namespace heddle::transport
