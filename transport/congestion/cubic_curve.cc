// The cubic function in fixed point: ticks of 2^-20 s, bytes, and 128 bits between them.
#include "transport/congestion/cubic_curve.h"

#include <algorithm>

#include "base/units.h"
#include "transport/congestion/fixed_point.h"

namespace heddle::transport {
namespace {

constexpr int kTickBits = 20;                       // a tick is 2^-20 s
constexpr int kGrowthBits = 16;                     // fractional bits of growth_
constexpr uint64_t kTicksMost = uint64_t{1} << 35;  // 9 hours, so that a cube stays below 2^105
constexpr uint64_t kSecond = 1'000'000'000;

uint64_t ticks_of(Nanos span) {
  if (span.count <= 0) return 0;
  const uint64_t nanos = std::min(static_cast<uint64_t>(span.count), uint64_t{1} << 43);
  return std::min((nanos << kTickBits) / kSecond, kTicksMost);
}

}  // namespace

CubicCurve::CubicCurve(uint64_t segment_bytes)
    : segment_(segment_bytes), growth_((segment_bytes * 4 << kGrowthBits) / 10) {}

void CubicCurve::begin(uint64_t plateau, uint64_t window) {
  plateau_ = std::max(plateau, window);
  const uint64_t climb = plateau_ - window;
  // K^3 = climb / segment / 0.4, in cubed ticks.
  const Uint128 cube = (static_cast<Uint128>(climb) * 10 << (3 * kTickBits)) / (segment_ * 4);
  k_ticks_ = std::min(cube_root(cube), kTicksMost);
}

uint64_t CubicCurve::at(Nanos elapsed) const {
  const uint64_t t = ticks_of(elapsed);
  const bool below = t < k_ticks_;
  const uint64_t distance = below ? k_ticks_ - t : t - k_ticks_;
  // Thirty of the cube's sixty fractional bits go before the product, which keeps it below 2^107,
  // and the other thirty, with those of growth_, after it.
  const Uint128 cube = static_cast<Uint128>(distance) * distance * distance;
  const Uint128 rise = ((cube >> 30) * growth_) >> (30 + kGrowthBits);
  const uint64_t bytes = static_cast<uint64_t>(std::min(rise, static_cast<Uint128>(1) << 62));
  if (below) return plateau_ > bytes ? plateau_ - bytes : 0;
  return plateau_ + bytes;
}

Nanos CubicCurve::plateau_after() const {
  return {static_cast<int64_t>((static_cast<Uint128>(k_ticks_) * kSecond) >> kTickBits)};
}

}  // namespace heddle::transport
