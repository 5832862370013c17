// See series.h.
#include "insight/load/series.h"

#include <algorithm>
#include <utility>

namespace heddle::insight {
namespace {

int64_t floor_divide(int64_t value, int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

}  // namespace

void Series::add(int64_t bin, uint64_t bytes) {
  if (bin < settled_) {
    add_settled(bin, bytes);
  } else {
    bins_[bin] += bytes;
  }
}

void Series::add_settled(int64_t bin, uint64_t bytes) {
  bytes_ += bytes;
  peak_ = std::max(peak_, bytes);
  highest_ = std::max(highest_, bytes);
  add_to_column(floor_divide(bin, bins_a_column_), bytes, bytes);
}

void Series::settle(int64_t until, int64_t bins_a_column, const Burst& told) {
  while (bins_a_column_ < bins_a_column) coarsen();
  if (until <= settled_) return;
  look_for_bursts(until, told);
  for (auto at = bins_.lower_bound(settled_); at != bins_.end() && at->first < until; ++at) {
    add_settled(at->first, at->second);
  }
  settled_ = until;
  bins_.erase(bins_.begin(), bins_.lower_bound(until - kAroundBins));
}

void Series::coarsen() {
  put_late();
  std::vector<LoadColumn> wider;
  for (const LoadColumn& column : columns_) {
    put(wider, {floor_divide(column.index, 2), column.bytes, column.peak});
  }
  columns_ = std::move(wider);
  bins_a_column_ *= 2;
}

void Series::add_to_column(int64_t index, uint64_t bytes, uint64_t peak) {
  if (columns_.empty() || columns_.back().index <= index) {
    put(columns_, {index, bytes, peak});
    return;
  }
  LoadColumn& late = late_[index];
  late.index = index;
  late.bytes += bytes;
  late.peak = std::max(late.peak, peak);
}

// Adds to the last column, or to a new one after it.
void Series::put(std::vector<LoadColumn>& columns, const LoadColumn& more) {
  if (columns.empty() || columns.back().index != more.index) {
    columns.push_back(more);
    return;
  }
  columns.back().bytes += more.bytes;
  columns.back().peak = std::max(columns.back().peak, more.peak);
}

void Series::put_late() {
  if (late_.empty()) return;
  std::vector<LoadColumn> all = std::move(columns_);
  for (const auto& [index, column] : late_) all.push_back(column);
  std::stable_sort(all.begin(), all.end(),
                   [](const LoadColumn& a, const LoadColumn& b) { return a.index < b.index; });
  columns_.clear();
  late_.clear();
  for (const LoadColumn& column : all) put(columns_, column);
}

Series::Settled Series::take() {
  put_late();
  bins_a_column_ = 1;
  return {std::exchange(columns_, {}), std::exchange(bytes_, 0), std::exchange(peak_, 0)};
}

// Over those that are about to be settled; bins around them are all there.
void Series::look_for_bursts(int64_t until, const Burst& told) {
  auto first = bins_.begin();  // of the bins around the one that is looked at
  auto last = bins_.begin();
  uint64_t around = 0;
  const auto end = [this] { return open_.begin_ns + open_.length_ns; };
  const auto close = [&] {
    if (open_.length_ns > 0) told(open_);
    open_ = {};
  };
  for (auto at = bins_.lower_bound(settled_); at != bins_.end() && at->first < until; ++at) {
    for (; last != bins_.end() && last->first <= at->first + kAroundBins; ++last)
      around += last->second;
    for (; first->first < at->first - kAroundBins; ++first) around -= first->second;
    const double mean = static_cast<double>(around) / (2 * kAroundBins + 1);
    const double times = static_cast<double>(at->second) / std::max(mean, 1.0);
    if (at->first != end()) close();
    if (times < LoadBuilder::kTimesMean) continue;
    if (open_.length_ns == 0) open_.begin_ns = at->first;
    open_.length_ns = at->first + 1 - open_.begin_ns;
    open_.bytes += at->second;
    if (at->second > open_.peak) {
      open_.peak = at->second;
      open_.times_mean = times;
    }
  }
  if (end() < until) close();  // else it may go on with the next bin
}

}  // namespace heddle::insight
