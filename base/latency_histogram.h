// LatencyHistogram: counts spans of time in buckets whose width is 1/256 of their value, so that
// any percentile of any number of samples is known to 0.4% in fixed memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/nanos.h"

namespace heddle {

class LatencyHistogram {
 public:
  LatencyHistogram();

  void add(Nanos span);

  uint64_t count() const { return count_; }
  // Zero where nothing was added.
  Nanos min() const { return count_ == 0 ? Nanos{} : min_; }
  Nanos max() const { return max_; }
  Nanos mean() const;
  // The smallest span that `per_mille` of a thousand samples do not exceed.
  Nanos percentile(uint32_t per_mille) const;

 private:
  static constexpr uint32_t kSubBits = 8;
  static uint32_t bucket_of(uint64_t value);
  static uint64_t highest_in(uint32_t bucket);

  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
  Nanos min_ = Nanos::never();
  Nanos max_;
  double sum_ns_ = 0;
};

}  // namespace heddle
