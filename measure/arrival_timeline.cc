// ArrivalTimeline: see arrival_timeline.h.
#include "measure/arrival_timeline.h"

namespace heddle::measure {

void ArrivalTimeline::add(Nanos now, uint64_t bytes) {
  if (empty()) began_ = latest_ = now;
  if (now - latest_ > longest_gap_) {
    longest_gap_ = now - latest_;
    longest_gap_after_ = latest_ - began_;
  }
  latest_ = now;
  auto at = static_cast<size_t>((now - began_).count / interval_.count);
  while (at >= kMostIntervals) {
    halve();
    at /= 2;
  }
  if (at >= bytes_.size()) bytes_.resize(at + 1);
  bytes_[at] += bytes;
}

void ArrivalTimeline::halve() {
  const size_t halved = (bytes_.size() + 1) / 2;
  for (size_t i = 0; i < halved; ++i) {
    bytes_[i] = bytes_[2 * i] + (2 * i + 1 < bytes_.size() ? bytes_[2 * i + 1] : 0);
  }
  bytes_.resize(halved);
  interval_ = interval_ * 2;
}

}  // namespace heddle::measure
