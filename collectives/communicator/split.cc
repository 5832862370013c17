// Splitting: see split.h.
#include "collectives/communicator/split.h"

#include <algorithm>
#include <vector>

namespace heddle::collectives {
namespace {

// Numbers of communicators that are made of others differ from all that people choose.
uint64_t derive(uint64_t communicator, uint32_t split, int32_t colour) {
  uint64_t mixed = communicator;
  for (const uint64_t part : {uint64_t{split} + 1, static_cast<uint64_t>(uint32_t(colour)) + 1}) {
    mixed = (mixed ^ part * 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
    mixed ^= mixed >> 29;
  }
  return mixed;
}

}  // namespace

Call gather_choices(const SplitChoice& mine, std::span<SplitChoice> all) {
  return {.collective = Collective::kAllGather,
          .type = DataType::kInt32,
          .count = sizeof(SplitChoice) / sizeof(int32_t),
          .input = &mine,
          .output = all.data()};
}

std::optional<Members> part_of(const Members& whole, uint32_t split,
                               std::span<const SplitChoice> choices) {
  const int32_t colour = choices[whole.rank].colour;
  if (colour < 0) return std::nullopt;
  std::vector<uint32_t> ranks;
  for (uint32_t each = 0; each < whole.size(); ++each) {
    if (choices[each].colour == colour) ranks.push_back(each);
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [choices](uint32_t a, uint32_t b) { return choices[a].key < choices[b].key; });
  Members part = {.communicator = derive(whole.communicator, split, colour)};
  for (const uint32_t each : ranks) {
    if (each == whole.rank) part.rank = part.size();
    part.addresses.push_back(whole.addresses[each]);
  }
  return part;
}

// No split has this number: each takes a call of its own.
uint64_t number_after(const Members& whole) { return derive(whole.communicator, UINT32_MAX, 0); }

Members survivors_of(const Members& whole, const RankSet& ranks) {
  Members left = {.communicator = number_after(whole)};
  for (const uint32_t each : ranks.ranks()) {
    if (each == whole.rank) left.rank = left.size();
    left.addresses.push_back(whole.addresses[each]);
  }
  return left;
}

}  // namespace heddle::collectives
