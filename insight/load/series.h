// Series: one direction of a NIC: bins as they are told, then columns, and the bursts among them.
// The load's builder drives it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "insight/load.h"

namespace heddle::insight {

class Series {
 public:
  // Of a burst what the series itself knows: its place, length, bytes, peak and times_mean.
  using Burst = std::function<void(const Microburst&)>;

  // Counts bytes in a bin; one that is settled already only adds to its column.
  void add(int64_t bin, uint64_t bytes);
  // Nothing more comes for bins before `until`: they become columns of `bins_a_column` bins, and
  // their bursts are told.
  void settle(int64_t until, int64_t bins_a_column, const Burst& told);
  // Two columns each become one.
  void coarsen();

  size_t columns() const { return columns_.size() + late_.size(); }
  // All of them, in order; nothing is added after that.
  std::vector<LoadColumn> take_columns();
  uint64_t bytes() const { return bytes_; }
  uint64_t peak() const { return peak_; }

 private:
  static void put(std::vector<LoadColumn>& columns, const LoadColumn& more);
  void put_late();
  void add_to_column(int64_t column, uint64_t bytes, uint64_t peak);
  void look_for_bursts(int64_t until, const Burst& told);

  std::map<int64_t, uint64_t> bins_;  // not settled, and those shortly before
  int64_t settled_ = INT64_MIN;       // bins before it are
  int64_t bins_a_column_ = 1;
  std::vector<LoadColumn> columns_;     // in the order of their indices
  std::map<int64_t, LoadColumn> late_;  // that came behind their turn
  uint64_t bytes_ = 0;
  uint64_t peak_ = 0;
};

}  // namespace heddle::insight
