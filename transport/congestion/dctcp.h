// Dctcp: the controller for fabrics whose switches mark early (ECN), RFC 8257: the window shrinks
// by half the smoothed fraction of marked bytes, so that light congestion costs little. Without
// marks it is Reno: it halves on loss. Since the fraction is of the whole connection, a path that
// is marked alone weighs its share by itself.
#pragma once

#include <cstdint>
#include <memory>

#include "base/nanos.h"
#include "transport/congestion/congestion_window.h"
#include "transport/congestion/controller.h"
#include "transport/congestion/fixed_point.h"
#include "transport/congestion/reduction.h"
#include "transport/congestion/slow_start.h"
#include "transport/params.h"

namespace heddle::transport {

class Dctcp final : public Controller {
 public:
  static constexpr uint32_t kKeepOnLoss = params::dctcp::kKeepOnLoss;
  static constexpr uint32_t kGain = params::dctcp::kGain;
  static constexpr uint32_t kAlphaOne = 1u << 20;  // alpha = 1

  explicit Dctcp(const ControllerOptions& options);

  void on_ack(Nanos now, const AckSample& sample) override;
  void on_loss(Nanos now, const LossSample& sample) override;
  void on_spurious_loss(Nanos now) override;
  Bytes window() const override { return {state_.window.bytes()}; }
  BitsPerSec pacing_rate() const override { return pacing_rate_; }
  Bytes burst_limit() const override;

  // The smoothed fraction of marked bytes, in kAlphaOne-ths.
  uint32_t alpha() const { return alpha_; }

 private:
  struct State {
    CongestionWindow window;
    SlowStart slow_start;
  };

  void measure(Nanos now, const AckSample& sample);
  void reduce(Nanos now, const CongestionSign& sign, uint32_t keep, bool loss);
  void grow(Nanos now, const AckSample& sample);
  void set_pacing_rate();

  State state_;
  State before_;  // the latest reduction
  Reduction reduction_;
  Carry carry_;
  Nanos round_began_;
  uint64_t round_acked_ = 0;    // bytes acknowledged in this observation window
  uint64_t round_marked_ = 0;   // of these, marked
  uint32_t alpha_ = kAlphaOne;  // section 3.3: begins at 1, so that the first mark halves
  Nanos smoothed_rtt_;
  BitsPerSec pacing_rate_;
};

std::unique_ptr<Controller> make_dctcp(const ControllerOptions& options);

}  // namespace heddle::transport
