// The pacer's arithmetic: one multiplication and one 64-bit division a burst.
#include "transport/congestion/pacer.h"

#include <algorithm>

namespace heddle::transport {
namespace {

constexpr uint64_t kBitNanosPerByte = 8'000'000'000;
// Up to here bytes x kBitNanosPerByte fits in 64 bits, and one 64-bit division does.
constexpr uint64_t kSmall = uint64_t{1} << 31;

// As transmit_time() in base/units.h, which divides in 128 bits.
Nanos time_at(Bytes size, BitsPerSec rate) {
  if (size.count > kSmall) return transmit_time(size, rate);
  const uint64_t bit_nanos = size.count * kBitNanosPerByte;
  const uint64_t whole = bit_nanos / rate.count;
  return {static_cast<int64_t>(whole + (whole * rate.count < bit_nanos ? 1 : 0))};
}

}  // namespace

Bytes Pacer::allowance(Nanos now, BitsPerSec rate, Bytes segment) const {
  if (rate.count == 0) return std::max(kBurstMost, segment);
  if (now < ready_at_) return {};
  return std::max(quantum(rate), segment);
}

void Pacer::on_sent(Nanos now, Bytes sent, BitsPerSec rate) {
  if (rate.count == 0) {
    ready_at_ = std::min(ready_at_, now);
    return;
  }
  const Nanos took = time_at(sent, rate);
  const Nanos saved = restarts_ ? std::max(kCatchUp, time_at(kSavedMost, rate)) : kCatchUp;
  ready_at_ = std::max(ready_at_, now - std::max(took, saved)) + took;
  if (ready_at_ + kCatchUp >= now) restarts_ = false;
}

Bytes Pacer::quantum(BitsPerSec rate) {
  // rate x 500 us / 8 bits.
  constexpr uint64_t kPerSecond = 8 * (1'000'000'000 / kBurstTimeMost.count);
  return {std::min(kBurstMost.count, rate.count / kPerSecond)};
}

}  // namespace heddle::transport
