// See size_counts.h.
#include "recordings/size_counts.h"

#include <algorithm>
#include <bit>

namespace heddle::recordings {
namespace {

void widen(std::map<unsigned, SizeRow>& ranges, const SizeRow& row) {
  const auto bits = static_cast<unsigned>(std::bit_width(row.least));
  const auto [at, fresh] = ranges.try_emplace(bits, row);
  if (fresh) return;
  at->second.least = std::min(at->second.least, row.least);
  at->second.most = std::max(at->second.most, row.most);
  at->second.count += row.count;
}

}  // namespace

void SizeCounts::add(uint64_t size, uint64_t count) {
  if (count == 0) return;
  count_ += count;
  total_ += size * count;
  if (const auto at = exact_.find(size); at != exact_.end()) {
    at->second += count;
  } else if (exact_.size() < kMostExact) {
    exact_.emplace(size, count);
  } else {
    widen(ranges_, {size, size, count});
  }
}

std::vector<SizeRow> SizeCounts::rows() const {
  std::vector<SizeRow> rows;
  for (const auto& [size, count] : exact_) rows.push_back({size, size, count});
  for (const auto& [bits, row] : ranges_) rows.push_back(row);
  std::sort(rows.begin(), rows.end(), [](const SizeRow& a, const SizeRow& b) {
    return a.least != b.least ? a.least < b.least : a.most < b.most;
  });
  return rows;
}

std::vector<SizeRow> SizeCounts::rows_or_ranges(size_t most_rows) const {
  if (ranges_.empty() && exact_.size() <= most_rows) return rows();
  std::map<unsigned, SizeRow> merged = ranges_;
  for (const auto& [size, count] : exact_) widen(merged, {size, size, count});
  std::vector<SizeRow> rows;
  for (const auto& [bits, row] : merged) rows.push_back(row);
  return rows;
}

}  // namespace heddle::recordings
