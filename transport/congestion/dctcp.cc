// DCTCP's reactions: measuring the marked fraction once a round trip, cutting by half of it.
#include "transport/congestion/dctcp.h"

#include <algorithm>

#include "transport/congestion/pacing_rate.h"
#include "transport/params.h"

namespace heddle::transport {
namespace {

using params::dctcp::kBurstDivisor;

}  // namespace

Dctcp::Dctcp(const ControllerOptions& options)
    : state_{.window = CongestionWindow(options)}, before_(state_) {}

void Dctcp::on_ack(Nanos now, const AckSample& sample) {
  smoothed_rtt_ = sample.smoothed_rtt;
  reduction_.on_ack(sample.sent_at);
  measure(now, sample);
  if (sample.marked.count > 0) {
    const uint64_t half_alpha = multiply_divide(alpha_, kWhole, 2 * kAlphaOne);
    // Not `alone`, whatever the other paths do: alpha has been scaled by what they did not mark.
    reduce(now, {.sent_at = sample.sent_at}, kWhole - static_cast<uint32_t>(half_alpha), false);
  } else {
    grow(now, sample);
  }
  set_pacing_rate();
}

void Dctcp::on_loss(Nanos now, const LossSample& sample) {
  if (sample.path_failure) return;
  smoothed_rtt_ = sample.smoothed_rtt;
  if (reduction_.timeout_persists(now, sample)) {
    state_.slow_start.restart(state_.window.bytes() / 2);
    state_.window.set(0);
  } else {
    reduce(now, CongestionSign::of(sample), kKeepOnLoss, true);
  }
  set_pacing_rate();
}

void Dctcp::on_spurious_loss(Nanos /*now*/) {
  if (!reduction_.take_undo()) return;
  const uint64_t grown_since = state_.window.bytes();
  state_ = before_;
  state_.window.set(std::max(state_.window.bytes(), grown_since));
  set_pacing_rate();
}

Bytes Dctcp::burst_limit() const {
  return {std::max(state_.window.bytes() / kBurstDivisor, state_.window.segment())};
}

// Section 3.3: once in each window of data, alpha moves a sixteenth towards the fraction marked in
// it.
void Dctcp::measure(Nanos now, const AckSample& sample) {
  round_acked_ += sample.acked.count;
  round_marked_ += std::min(sample.marked.count, sample.acked.count);
  if (sample.sent_at < round_began_ || round_acked_ == 0) return;
  const auto fraction =
      static_cast<uint32_t>(multiply_divide(round_marked_, kAlphaOne, round_acked_));
  alpha_ = alpha_ - alpha_ / kGain + fraction / kGain;
  round_began_ = now;
  round_acked_ = round_marked_ = 0;
}

void Dctcp::reduce(Nanos now, const CongestionSign& sign, uint32_t keep, bool loss) {
  const uint64_t window = state_.window.bytes();
  const Reduction::Answer answer = reduction_.answer(now, sign, window, keep, loss);
  if (answer.kind == Reduction::Kind::kNone) return;
  if (answer.kind == Reduction::Kind::kFirst) {
    before_ = state_;
  } else {
    state_ = before_;
  }
  const bool stays_in_slow_start = answer.shared && state_.slow_start.active(window);
  state_.window.set(answer.window);
  if (!stays_in_slow_start) state_.slow_start.end(state_.window.bytes());
}

void Dctcp::grow(Nanos now, const AckSample& sample) {
  if (!sample.window_limited || reduction_.precedes_latest(sample.sent_at)) return;
  const uint64_t window = state_.window.bytes();
  if (state_.slow_start.active(window)) {
    state_.window.grow(state_.slow_start.grow(now, sample, window, pacing_rate_));
    return;
  }
  const uint64_t acked = std::min(sample.acked.count, window);
  state_.window.grow(carry_.take(acked, state_.window.segment(), window));
}

void Dctcp::set_pacing_rate() {
  pacing_rate_ =
      pacing_rate_of(window(), smoothed_rtt_, state_.slow_start.active(state_.window.bytes()));
}

std::unique_ptr<Controller> make_dctcp(const ControllerOptions& options) {
  return std::make_unique<Dctcp>(options);
}

}  // namespace heddle::transport
