// The list of ranges, newest first. Nearly every call extends the newest range or starts a new one
// above it.
#include "transport/recovery/received_numbers.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::transport {

uint64_t ReceivedNumbers::floor(const OlderPool& pool) const {
  if (older_ == kClosed) return low() - 1;
  return lent() ? pool[older_].floor : 0;
}

Novelty ReceivedNumbers::judge(const OlderPool& pool, uint64_t low, uint64_t high) const {
  if (low > high_) return Novelty::kNew;
  const uint64_t forgotten = floor(pool);
  if (low <= forgotten) return high <= forgotten ? Novelty::kTooOld : Novelty::kMixed;
  uint64_t known = 0;
  const size_t count = range_count(pool);
  for (size_t i = 0; i < count; ++i) {
    const NumberRange there = range(pool, i);
    if (there.high < low) break;
    const uint64_t from = std::max(low, there.low);
    const uint64_t to = std::min(high, there.high);
    if (to >= from) known += to - from + 1;
  }
  if (known == 0) return Novelty::kNew;
  return known == high - low + 1 ? Novelty::kDuplicate : Novelty::kMixed;
}

void ReceivedNumbers::forget_gaps(OlderPool& pool) {
  if (empty()) return;
  if (lent()) {
    pool[older_] = OlderRanges{};
    pool.give_back(older_);
  }
  older_ = low() == 1 ? kNoIndex : kClosed;
}

void ReceivedNumbers::set_range(OlderPool& pool, size_t i, NumberRange range) {
  if (i > 0) {
    pool[older_].ranges[i - 1] = range;
    return;
  }
  high_ = range.high;
  const uint64_t length = range.high - range.low + 1;
  length_ = static_cast<uint32_t>(std::min<uint64_t>(length, UINT32_MAX));
  if (length != length_) forget_gaps(pool);  // what is cut off stays known as too old
}

void ReceivedNumbers::insert_at(OlderPool& pool, size_t i, NumberRange added) {
  if (!lent()) {
    const uint64_t forgotten = floor(pool);
    const uint32_t index = pool.lend();
    if (index == kNoIndex) {
      // Without room for a gap: what is above it counts, and what is below is too old.
      older_ = kClosed;
      if (i == 0) set_range(pool, 0, added);
      return;
    }
    older_ = index;
    pool[older_].floor = forgotten;
  }
  OlderRanges& older = pool[older_];
  if (older.count == OlderRanges::kMost) {
    older.floor = std::max(older.floor, older.ranges.back().high);
    if (i > older.count) return;  // it would be the oldest itself
    --older.count;
  }
  ++older.count;
  const NumberRange newest = range(pool, 0);
  for (size_t k = older.count - 1u; k > (i == 0 ? 0 : i - 1); --k) {
    older.ranges[k] = older.ranges[k - 1];
  }
  if (i == 0) older.ranges[0] = newest;
  set_range(pool, i, added);
}

// Ranges [first, end), none of them the newest.
void ReceivedNumbers::remove(OlderPool& pool, size_t first, size_t end) {
  if (first == end) return;
  OlderRanges& older = pool[older_];
  std::copy(older.ranges.begin() + static_cast<ptrdiff_t>(end - 1),
            older.ranges.begin() + older.count,
            older.ranges.begin() + static_cast<ptrdiff_t>(first - 1));
  older.count = static_cast<uint8_t>(older.count - (end - first));
}

void ReceivedNumbers::insert(OlderPool& pool, uint64_t low, uint64_t high) {
  CHECK(low >= 1 && low <= high);
  if (empty()) {
    set_range(pool, 0, {low, high});
    return;
  }
  // The first range that ends at or above low - 1 from the old side: the one to extend, or to stand
  // before.
  const size_t count = range_count(pool);
  size_t i = 0;
  while (i < count && range(pool, i).low > high + 1) ++i;
  if (i == count || range(pool, i).high + 1 < low) {
    insert_at(pool, i, {low, high});
    return;
  }
  NumberRange merged = range(pool, i);
  merged.high = std::max(merged.high, high);
  merged.low = std::min(merged.low, low);
  size_t end = i + 1;
  while (end < count && range(pool, end).high + 1 >= merged.low) {
    merged.low = std::min(merged.low, range(pool, end++).low);
  }
  remove(pool, i + 1, end);
  set_range(pool, i, merged);
  settle(pool);
}

// Where only the newest range is left, nothing more need be lent.
void ReceivedNumbers::settle(OlderPool& pool) {
  if (!lent() || older_count(pool) > 0) return;
  const uint64_t forgotten = floor(pool);
  if (forgotten != 0 && forgotten + 1 < low()) return;
  forget_gaps(pool);
  if (forgotten == 0) older_ = kNoIndex;
}

void ReceivedNumbers::describe(const OlderPool& pool, AckFrame& frame) const {
  CHECK(!empty());
  frame.range_count = static_cast<uint8_t>(range_count(pool));
  for (size_t i = 0; i < frame.range_count; ++i) frame.ranges[i] = range(pool, i);
}

}  // namespace heddle::transport
