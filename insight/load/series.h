// Series: one direction of a NIC: collects bins, converts them to columns and finds bursts among
// them. LoadBuilder drives it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "insight/load.h"
#include "insight/params.h"

namespace heddle::insight {

class Series {
 public:
  // The mean covers this many bins before and after.
  static constexpr int64_t kAroundBins = params::load::kAroundBins;

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
  // What was settled since the last call: columns in order, bytes, and the largest bin. The next
  // columns begin with one bin each.
  struct Settled {
    std::vector<LoadColumn> columns;
    uint64_t bytes = 0;
    uint64_t peak = 0;
  };
  Settled take();
  // The largest bin of all that were settled.
  uint64_t highest() const { return highest_; }

 private:
  static void put(std::vector<LoadColumn>& columns, const LoadColumn& more);
  void put_late();
  void add_settled(int64_t bin, uint64_t bytes);
  void add_to_column(int64_t column, uint64_t bytes, uint64_t peak);
  void look_for_bursts(int64_t until, const Burst& told);

  std::map<int64_t, uint64_t> bins_;  // not settled, and the kAroundBins before those
  int64_t settled_ = INT64_MIN;       // bins before this one are settled
  Microburst open_;                   // ends with the last settled bin; in bins
  int64_t bins_a_column_ = 1;
  std::vector<LoadColumn> columns_;     // sorted by index
  std::map<int64_t, LoadColumn> late_;  // columns that got data out of order
  uint64_t bytes_ = 0;                  // settled since take(), as is `peak_`
  uint64_t peak_ = 0;
  uint64_t highest_ = 0;
};

}  // namespace heddle::insight
