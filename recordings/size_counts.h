// SizeCounts: how often each size was seen. Sizes are exact up to a bound of different ones; beyond
// it they share a range between powers of two, so memory has a bound whatever is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "recordings/params.h"

namespace heddle::recordings {

// `count` sizes from `least` to `most`, both included.
struct SizeRow {
  uint64_t least = 0;
  uint64_t most = 0;
  uint64_t count = 0;
};

class SizeCounts {
 public:
  static constexpr size_t kMostExact = params::kMostExactSizes;

  void add(uint64_t size, uint64_t count = 1);

  uint64_t count() const { return count_; }
  // Of exact sizes the sum; a size in a range counts as itself, too.
  uint64_t total() const { return total_; }
  // In rising order of `least`. Ranges hold sizes that are not among the exact ones.
  std::vector<SizeRow> rows() const;
  // The exact sizes where there are at most `most_rows`, else ranges between powers of two.
  std::vector<SizeRow> rows_or_ranges(size_t most_rows) const;

 private:
  std::map<uint64_t, uint64_t> exact_;
  std::map<unsigned, SizeRow> ranges_;  // by the number of bits of their sizes
  uint64_t count_ = 0;
  uint64_t total_ = 0;
};

}  // namespace heddle::recordings
