// Loss by reordering (RFC 8985's adaptive window, per path) and how long records are kept.
#include "transport/recovery/loss_detection.h"

#include <algorithm>

#include "transport/params.h"

namespace heddle::transport {

void LossDetector::on_spurious(Nanos now, TxPath& path, const AckOutcome& outcome, Nanos min_rtt) {
  spurious_segments_ += outcome.spurious_segments;
  const Nanos late = now - outcome.spurious_sent_at - min_rtt;
  const Nanos limit = std::max(path.trip.smoothed(), params::kReorderLimitLeast);
  path.window.widen(now, outcome.spurious_behind, std::clamp(late, Nanos{}, limit), limit);
}

void LossDetector::forget_later(Nanos now, TxPath& path, WakeTime& wake) {
  path.probe_at = CoarseTime(now + params::kForgetEvery);
  wake.by(path.probe_at.near(now));
}

}  // namespace heddle::transport
