// The list of ranges, newest first. Nearly every call extends the newest range or starts a new one
// above it.
#include "transport/recovery/received_numbers.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::transport {

Novelty ReceivedNumbers::judge(uint64_t low, uint64_t high) const {
  if (low > newest_.high) return Novelty::kNew;
  if (low <= floor_) return high <= floor_ ? Novelty::kTooOld : Novelty::kMixed;
  uint64_t known = 0;
  for (size_t i = 0; i < range_count() && range(i).high >= low; ++i) {
    const uint64_t from = std::max(low, range(i).low);
    const uint64_t to = std::min(high, range(i).high);
    if (to >= from) known += to - from + 1;
  }
  if (known == 0) return Novelty::kNew;
  return known == high - low + 1 ? Novelty::kDuplicate : Novelty::kMixed;
}

void ReceivedNumbers::insert_at(size_t i, NumberRange added) {
  if (!older_) older_ = std::make_unique<Older>();
  if (older_count_ == kMaxOlder) {
    floor_ = std::max(floor_, range(older_count_).high);
    if (i > older_count_) return;  // it would be the oldest itself
    --older_count_;
  }
  ++older_count_;
  for (size_t k = older_count_; k > i; --k) range(k) = range(k - 1);
  range(i) = added;
}

void ReceivedNumbers::remove_at(size_t i) {
  for (size_t k = i; k < older_count_; ++k) range(k) = range(k + 1);
  --older_count_;
}

void ReceivedNumbers::insert(uint64_t low, uint64_t high) {
  CHECK(low >= 1 && low <= high);
  if (empty()) {
    newest_ = {low, high};
    floor_ = 0;
    return;
  }
  // The first range that ends at or above low - 1 from the old side: the one to extend, or to stand
  // before.
  size_t i = 0;
  while (i < range_count() && range(i).low > high + 1) ++i;
  if (i == range_count() || range(i).high + 1 < low) {
    insert_at(i, {low, high});
    return;
  }
  range(i).high = std::max(range(i).high, high);
  range(i).low = std::min(range(i).low, low);
  while (i + 1 < range_count() && range(i + 1).high + 1 >= range(i).low) {
    range(i).low = std::min(range(i).low, range(i + 1).low);
    remove_at(i + 1);
  }
}

void ReceivedNumbers::describe(AckFrame& frame) const {
  CHECK(!empty());
  frame.range_count = static_cast<uint8_t>(range_count());
  for (size_t i = 0; i < range_count(); ++i) frame.ranges[i] = range(i);
}

}  // namespace heddle::transport
