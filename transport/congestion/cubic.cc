// CUBIC's reactions: one reduction a round trip, growth along the curve or with Reno above it.
#include "transport/congestion/cubic.h"

#include <algorithm>

#include "transport/congestion/pacing_rate.h"
#include "transport/params.h"

namespace heddle::transport {
namespace {

using namespace params::cubic;

}  // namespace

Cubic::Cubic(const ControllerOptions& options)
    : state_{.window = CongestionWindow(options), .curve = CubicCurve(options.segment.count)},
      before_(state_) {}

void Cubic::on_ack(Nanos now, const AckSample& sample) {
  smoothed_rtt_ = sample.smoothed_rtt;
  reduction_.on_ack(sample.sent_at);
  if (sample.marked.count > 0) reduce(now, CongestionSign::of(sample), kBetaOnMark, false);
  grow(now, sample);
  last_ack_ = now;
  set_pacing_rate();
}

void Cubic::on_loss(Nanos now, const LossSample& sample) {
  if (sample.path_failure) return;
  smoothed_rtt_ = sample.smoothed_rtt;
  if (reduction_.timeout_persists(now, sample)) {
    // RFC 9438 section 4.8, but only when a first timeout's gentler cut brought nothing back.
    state_.slow_start.restart(multiply_divide(state_.window.bytes(), kBeta, kWhole));
    state_.window.set(0);
    state_.plateau = 0;
    state_.epoch_begun = false;
  } else {
    reduce(now, CongestionSign::of(sample), kBeta, true);
  }
  set_pacing_rate();
}

void Cubic::on_spurious_loss(Nanos /*now*/) {
  if (!reduction_.take_undo()) return;
  const uint64_t grown_since = state_.window.bytes();
  state_ = before_;
  state_.window.set(std::max(state_.window.bytes(), grown_since));
  set_pacing_rate();
}

void Cubic::reduce(Nanos now, const CongestionSign& sign, uint32_t keep, bool loss) {
  const uint64_t window = state_.window.bytes();
  const Reduction::Answer answer = reduction_.answer(now, sign, window, keep, loss);
  if (answer.kind == Reduction::Kind::kNone) return;
  if (answer.kind == Reduction::Kind::kFirst) {
    before_ = state_;
  } else {
    state_ = before_;
  }
  if (answer.shared && state_.slow_start.active(window)) {
    // One path's trouble says nothing about how far the others are from theirs: slow start goes on.
    state_.window.set(answer.window);
    return;
  }
  const uint64_t top = state_.window.bytes();
  // Fast convergence (RFC 9438 section 4.7): a plateau that sinks makes room for newcomers.
  state_.plateau = top < state_.plateau ? (top + answer.window) / 2 : top;
  state_.prior = top;
  state_.window.set(answer.window);
  state_.slow_start.end(state_.window.bytes());
  state_.epoch_begun = false;
}

void Cubic::grow(Nanos now, const AckSample& sample) {
  // Neither an idle sender's acknowledgements nor those of what left before the latest reduction
  // prove that the network would bear more, nor does the curve's time go on (RFC 9438 sections 4.2
  // and 5.8).
  if (!sample.window_limited || reduction_.precedes_latest(sample.sent_at)) return;
  const uint64_t window = state_.window.bytes();
  if (state_.slow_start.active(window)) {
    state_.window.grow(state_.slow_start.grow(now, sample, window, pacing_rate_));
    state_.epoch_begun = false;
    return;
  }
  if (state_.epoch_begun) {
    // More than two round trips without an acknowledgement is a pause, not time to grow in.
    state_.elapsed += std::min(now - last_ack_, 2 * sample.smoothed_rtt);
  } else {
    begin_epoch();
  }
  grow_along_curve(sample);
}

void Cubic::begin_epoch() {
  const uint64_t window = state_.window.bytes();
  if (state_.plateau == 0) state_.plateau = state_.prior = window;
  state_.curve.begin(state_.plateau, window);
  state_.reno = window;
  state_.elapsed = {};
  state_.epoch_begun = true;
  growth_carry_.clear();
  reno_carry_.clear();
}

void Cubic::grow_along_curve(const AckSample& sample) {
  const uint64_t window = state_.window.bytes();
  const uint64_t segment = state_.window.segment();
  const uint64_t acked = std::min(sample.acked.count, window);

  const bool below_prior = state_.reno < state_.prior;
  state_.reno += below_prior ? reno_carry_.take(acked, segment * kAlphaParts, window * kAlphaOf)
                             : reno_carry_.take(acked, segment * kAlphaOf, window * kAlphaOf);
  state_.reno = std::min(state_.reno, state_.window.limit());

  if (state_.curve.at(state_.elapsed) < state_.reno) {
    state_.window.set(std::max(window, state_.reno));
    return;
  }
  // Sections 4.4 and 4.5: towards where the curve will be a round trip from now, at most 1.5 times
  // as far.
  const uint64_t ahead = state_.curve.at(state_.elapsed + sample.smoothed_rtt);
  const uint64_t target = std::clamp(ahead, window, window + window / 2);
  state_.window.grow(growth_carry_.take(target - window, acked, window));
}

void Cubic::set_pacing_rate() {
  pacing_rate_ =
      pacing_rate_of(window(), smoothed_rtt_, state_.slow_start.active(state_.window.bytes()));
}

std::unique_ptr<Controller> make_cubic(const ControllerOptions& options) {
  return std::make_unique<Cubic>(options);
}

}  // namespace heddle::transport
