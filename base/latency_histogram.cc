// LatencyHistogram: see latency_histogram.h. Values below 256 have a bucket each; above, the
// leading bit and the eight bits behind it choose one.
#include "base/latency_histogram.h"

#include <algorithm>
#include <bit>

namespace heddle {

LatencyHistogram::LatencyHistogram() : buckets_(bucket_of(UINT64_MAX) + 1) {}

uint32_t LatencyHistogram::bucket_of(uint64_t value) {
  const auto bits = static_cast<uint32_t>(std::bit_width(value));
  if (bits <= kSubBits) return static_cast<uint32_t>(value);
  const uint32_t shift = bits - kSubBits - 1;
  return (shift << kSubBits) + static_cast<uint32_t>(value >> shift);
}

uint64_t LatencyHistogram::highest_in(uint32_t bucket) {
  if (bucket < (2U << kSubBits)) return bucket;
  const uint32_t shift = (bucket >> kSubBits) - 1;
  const uint64_t lowest = (uint64_t{1} << kSubBits | (bucket & ((1U << kSubBits) - 1))) << shift;
  return lowest + (uint64_t{1} << shift) - 1;
}

void LatencyHistogram::add(Nanos span) {
  span = std::max(span, Nanos{});
  ++buckets_[bucket_of(static_cast<uint64_t>(span.count))];
  ++count_;
  sum_ns_ += static_cast<double>(span.count);
  min_ = std::min(min_, span);
  max_ = std::max(max_, span);
}

Nanos LatencyHistogram::mean() const {
  return count_ == 0 ? Nanos{} : nanos(static_cast<int64_t>(sum_ns_ / static_cast<double>(count_)));
}

Nanos LatencyHistogram::percentile(uint32_t per_mille) const {
  const uint64_t rank = std::max<uint64_t>(1, (count_ * per_mille + 999) / 1000);
  uint64_t passed = 0;
  for (uint32_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    passed += buckets_[bucket];
    if (passed >= rank) {
      return std::min(max_, nanos(static_cast<int64_t>(highest_in(bucket))));
    }
  }
  return max_;
}

}  // namespace heddle
