// Swift's reactions and constants: each with where it comes from.
#include "transport/congestion/swift.h"

#include <algorithm>

#include "transport/congestion/pacing_rate.h"
#include "transport/params.h"

namespace heddle::transport {
namespace {

using namespace params::swift;

}  // namespace

Swift::Swift(const ControllerOptions& options)
    : state_{.window = CongestionWindow(options)}, before_(state_) {
  recent_.fill(Nanos::never());
}

void Swift::on_ack(Nanos now, const AckSample& sample) {
  smoothed_rtt_ = sample.smoothed_rtt;
  reduction_.on_ack(sample.sent_at);
  if (sample.rtt <= Nanos{}) return;
  const Nanos delay = lowest_recent(sample.rtt);
  const Nanos lowest = sample.min_rtt > Nanos{} ? std::min(sample.min_rtt, delay) : delay;
  if (delay <= target_delay(lowest, state_.window.bytes(), state_.window.segment())) {
    grow(sample);
  } else {
    const uint64_t keep =
        multiply_divide(static_cast<uint64_t>(lowest.count), kKeepOfEmpty * (kWhole / 1000),
                        static_cast<uint64_t>(delay.count));
    reduce(now, CongestionSign::of(sample), std::max(static_cast<uint32_t>(keep), kKeepLeast),
           false);
  }
  set_pacing_rate();
}

void Swift::on_loss(Nanos now, const LossSample& sample) {
  if (sample.path_failure) return;
  smoothed_rtt_ = sample.smoothed_rtt;
  if (reduction_.timeout_persists(now, sample)) {
    state_.window.set(0);
    state_.slow_start = true;  // until the first delay above the target
  } else {
    reduce(now, CongestionSign::of(sample), kKeepOnLoss, true);
  }
  set_pacing_rate();
}

void Swift::on_spurious_loss(Nanos /*now*/) {
  if (!reduction_.take_undo()) return;
  const uint64_t grown_since = state_.window.bytes();
  state_ = before_;
  state_.window.set(std::max(state_.window.bytes(), grown_since));
  set_pacing_rate();
}

Bytes Swift::burst_limit() const {
  return {std::max(state_.window.bytes() / kBurstDivisor, state_.window.segment())};
}

Nanos Swift::target_delay(Nanos min_rtt, uint64_t window_bytes, uint64_t segment_bytes) {
  const Nanos queue = std::max(kQueueLeast, min_rtt / kQueueDivisor);
  // 1/sqrt(window in segments) as sqrt(segment / window), in kInverseRootOne-ths.
  const uint64_t inverse_root =
      square_root(multiply_divide(segment_bytes, kInverseRootOne * kInverseRootOne, window_bytes));
  const uint64_t above =
      std::clamp(inverse_root, kInverseRootLeast, kInverseRootMost) - kInverseRootLeast;
  const Nanos scaling = queue / kScalingDivisor * static_cast<int64_t>(above) /
                        static_cast<int64_t>(kInverseRootMost - kInverseRootLeast);
  return min_rtt + queue + scaling;
}

// The lowest of the latest few round trips, which one late host or one burst does not raise. On a
// connection of several paths it is that of the better ones, as it should be: a lone slow path is
// the selector's matter.
Nanos Swift::lowest_recent(Nanos rtt) {
  recent_[next_recent_] = rtt;
  next_recent_ = (next_recent_ + 1) % kRecent;
  return *std::min_element(recent_.begin(), recent_.end());
}

void Swift::reduce(Nanos now, const CongestionSign& sign, uint32_t keep, bool loss) {
  const Reduction::Answer answer = reduction_.answer(now, sign, state_.window.bytes(), keep, loss);
  if (answer.kind == Reduction::Kind::kNone) return;
  if (answer.kind == Reduction::Kind::kFirst) {
    before_ = state_;
  } else {
    state_ = before_;
  }
  state_.window.set(answer.window);
  if (!answer.shared) state_.slow_start = false;
}

void Swift::grow(const AckSample& sample) {
  if (!sample.window_limited) return;
  const uint64_t window = state_.window.bytes();
  const uint64_t acked = std::min(sample.acked.count, window);
  // Algorithm 1 with ai = 1 segment; slow start until the first reduction is an addition to it.
  state_.window.grow(state_.slow_start ? acked
                                       : carry_.take(acked, state_.window.segment(), window));
}

void Swift::set_pacing_rate() {
  pacing_rate_ = pacing_rate_of(window(), smoothed_rtt_, state_.slow_start);
}

std::unique_ptr<Controller> make_swift(const ControllerOptions& options) {
  return std::make_unique<Swift>(options);
}

}  // namespace heddle::transport
