// See memory.h.
#include "datapath/verbs/memory.h"

#include <utility>

namespace heddle::datapath {

RegisteredMemory::~RegisteredMemory() {
  for (const auto& [key, shared] : ranges_) {
    if (shared.range.memory != nullptr) registrar_.remove(shared.range);
  }
}

std::map<RegisteredMemory::Key, RegisteredMemory::SharedRange>::iterator&
RegisteredMemory::entry_of(transport::RegionId region) {
  if (region >= by_region_.size()) by_region_.resize(region + 1, ranges_.end());
  return by_region_[region];
}

RegisteredRange RegisteredMemory::add_device(transport::RegionId region, const DeviceMemory& memory,
                                             uint64_t bytes) {
  const auto [entry, is_new] = ranges_.try_emplace({memory.mapping, bytes, true});
  if (is_new) entry->second.range = registrar_.add_device(memory, bytes);
  const RegisteredRange range = entry->second.range;
  if (range.memory == nullptr) {
    ranges_.erase(entry);
    return range;
  }
  ++entry->second.users;
  entry_of(region) = entry;
  return range;
}

const RegisteredRange& RegisteredMemory::find(transport::RegionId region, void* start,
                                              uint64_t bytes) {
  auto& found = entry_of(region);
  if (found != ranges_.end()) return found->second.range;
  const auto [entry, is_new] = ranges_.try_emplace({start, bytes, false});
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
