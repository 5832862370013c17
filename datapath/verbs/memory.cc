// See memory.h.
#include "datapath/verbs/memory.h"

#include <utility>

namespace heddle::datapath {

RegisteredMemory::~RegisteredMemory() {
  for (const auto& [key, shared] : ranges_) {
    if (shared.range.memory != nullptr) registrar_.remove(shared.range);
  }
}

const RegisteredRange& RegisteredMemory::find(transport::RegionId region, void* start,
                                              uint64_t bytes) {
  if (region >= by_region_.size()) by_region_.resize(region + 1, ranges_.end());
  auto& found = by_region_[region];
  if (found != ranges_.end()) return found->second.range;
  const auto [entry, is_new] = ranges_.try_emplace({start, bytes});
  if (is_new) {
    entry->second.range = registrar_.add(start, bytes);
    if (entry->second.range.memory == nullptr) ++failures_;
  }
  ++entry->second.users;
  found = entry;
  return entry->second.range;
}

void RegisteredMemory::forget(transport::RegionId region) {
  if (region >= by_region_.size()) return;
  const auto entry = std::exchange(by_region_[region], ranges_.end());
  if (entry == ranges_.end() || --entry->second.users > 0) return;
  if (entry->second.range.memory != nullptr) registrar_.remove(entry->second.range);
  ranges_.erase(entry);
}

}  // namespace heddle::datapath
