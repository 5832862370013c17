// The estimator's arithmetic: RFC 6298's gains, and a minimum over two half windows.
#include "transport/path/round_trip.h"

#include <algorithm>

namespace heddle::transport {
namespace {

constexpr Nanos kHalfWindow = RoundTrip::kWindow / 2;

uint32_t cut(Nanos span, int64_t least) {
  return static_cast<uint32_t>(std::clamp<int64_t>(span.count, least, UINT32_MAX));
}

}  // namespace

void TripEstimate::add(Nanos sample) {
  const uint32_t value = cut(sample, 1);
  if (!measured()) {
    smoothed_ = value;
    variation_ = value / 2;
  } else {
    const int64_t error = int64_t{value} - smoothed_;
    const int64_t deviation = error < 0 ? -error : error;
    variation_ = static_cast<uint32_t>(variation_ + (deviation - variation_) / 4);
    smoothed_ = std::max(static_cast<uint32_t>(smoothed_ + error / 8), 1u);
  }
  latest_ = value;
}

void RoundTrip::add(Nanos now, Nanos sample, Nanos held, uint32_t paths) {
  if (!measured()) half_began_ = now;
  trip_.add(sample);
  held_ = std::max(held_ - held_ / (16 * std::max(paths, 1u)), cut(held, 0));
  if (now - half_began_ >= kHalfWindow) {
    // After a pause of a whole window the former half says nothing either.
    minimum_before_ = now - half_began_ >= kWindow ? UINT32_MAX : minimum_now_;
    minimum_now_ = UINT32_MAX;
    half_began_ = now;
  }
  minimum_now_ = std::min(minimum_now_, cut(sample, 1));
}

Nanos RoundTrip::minimum() const {
  return measured() ? Nanos{std::min(minimum_now_, minimum_before_)} : Nanos{};
}

Nanos RoundTrip::probe_timeout(const TripEstimate& path) const {
  if (!measured()) return kTimeoutUnmeasured;
  const TripEstimate& trip = path.measured() ? path : trip_;
  const Nanos once = trip.smoothed() + std::max(4 * trip.variation(), kSlackLeast);
  return (path.measured() ? once : 2 * once) + Nanos{held_};
}

}  // namespace heddle::transport
