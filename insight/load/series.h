// Series: one direction of a NIC: collects bins, converts them to columns and finds bursts among
// them. LoadBuilder drives it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "insight/load.h"

namespace heddle::insight {

class Series {
 public:
  // Called with the fields of a burst that the series knows: position, length, bytes, peak and
  // times_mean.
  using Burst = std::function<void(const Microburst&)>;

  // Adds bytes to a bin; if the bin is settled, only to its column.
  void add(int64_t bin, uint64_t bytes);
  // Converts bins before `until`, for which no more data comes, to columns of `bins_a_column` bins,
  // and reports their bursts.
  void settle(int64_t until, int64_t bins_a_column, const Burst& told);
  // Merges every two columns into one.
  void coarsen();

  size_t columns() const { return columns_.size() + late_.size(); }
  // All columns, in order. No data may be added after this.
  std::vector<LoadColumn> take_columns();
  uint64_t bytes() const { return bytes_; }
  uint64_t peak() const { return peak_; }

 private:
  static void put(std::vector<LoadColumn>& columns, const LoadColumn& more);
  void put_late();
  void add_to_column(int64_t column, uint64_t bytes, uint64_t peak);
  void look_for_bursts(int64_t until, const Burst& told);

  std::map<int64_t, uint64_t> bins_;  // not settled, and the kAround bins before those
  int64_t settled_ = INT64_MIN;       // bins before this one are settled
  Microburst open_;                   // ends with the last settled bin; in bins
  int64_t bins_a_column_ = 1;
  std::vector<LoadColumn> columns_;     // sorted by index
  std::map<int64_t, LoadColumn> late_;  // columns that got data out of order
  uint64_t bytes_ = 0;
  uint64_t peak_ = 0;
};

}  // namespace heddle::insight
