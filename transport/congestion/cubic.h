// Cubic: the loss-based controller, CUBIC as RFC 9438 has it, with delay-based exit from slow
// start. What it adds to the RFC: one window over many paths, so a path that suffers alone costs
// its share only; and congestion marks cost less than losses (RFC 8511).
#pragma once

#include <cstdint>
#include <memory>

#include "base/nanos.h"
#include "transport/congestion/congestion_window.h"
#include "transport/congestion/controller.h"
#include "transport/congestion/cubic_curve.h"
#include "transport/congestion/fixed_point.h"
#include "transport/congestion/reduction.h"
#include "transport/congestion/slow_start.h"
#include "transport/params.h"

namespace heddle::transport {

class Cubic final : public Controller {
 public:
  static constexpr uint32_t kBeta = params::cubic::kBeta;
  static constexpr uint32_t kBetaOnMark = params::cubic::kBetaOnMark;

  explicit Cubic(const ControllerOptions& options);

  void on_ack(Nanos now, const AckSample& sample) override;
  void on_loss(Nanos now, const LossSample& sample) override;
  void on_spurious_loss(Nanos now) override;
  Bytes window() const override { return {state_.window.bytes()}; }
  BitsPerSec pacing_rate() const override { return pacing_rate_; }

 private:
  // What a reduction changes and an undo brings back.
  struct State {
    CongestionWindow window;
    SlowStart slow_start;
    CubicCurve curve;
    bool epoch_begun = false;  // false: the next acknowledgement begins it
    Nanos elapsed;             // since then, without the time when the window was not what limited
    uint64_t plateau = 0;      // W_max, bytes; 0: none since slow start
    uint64_t prior = 0;        // cwnd_prior, bytes: the window before the latest reduction
    uint64_t reno = 0;         // W_est, bytes: what Reno would have grown to
  };

  void reduce(Nanos now, const CongestionSign& sign, uint32_t keep, bool loss);
  void grow(Nanos now, const AckSample& sample);
  void grow_along_curve(const AckSample& sample);
  void begin_epoch();
  void set_pacing_rate();

  State state_;
  State before_;  // the latest reduction
  Reduction reduction_;
  Carry growth_carry_;
  Carry reno_carry_;
  Nanos last_ack_;
  Nanos smoothed_rtt_;
  BitsPerSec pacing_rate_;
};

std::unique_ptr<Controller> make_cubic(const ControllerOptions& options);

}  // namespace heddle::transport
