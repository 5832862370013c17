// Intervals of known content over regions that start as their own pattern.
#include "simulator/virtual_memory.h"

#include <algorithm>
#include <type_traits>

#include "base/check.h"

namespace heddle::simulator {

using transport::Payload;
using transport::RegionId;

namespace {

bool continues(const Content& first, const Content& second) {
  return first.name == second.name && first.at + first.length == second.at;
}

Content slice(const Content& content, uint64_t skip, uint64_t length) {
  return {content.name, content.at + skip, length};
}

void append(std::vector<Content>& pieces, size_t first, const Content& piece) {
  if (pieces.size() > first && continues(pieces.back(), piece)) {
    pieces.back().length += piece.length;
  } else {
    pieces.push_back(piece);
  }
}

}  // namespace

RegionId VirtualMemory::add(uint64_t pattern, uint64_t bytes) {
  // Otherwise a growing vector would copy them, and copies do not keep their allocator.
  static_assert(std::is_nothrow_move_constructible_v<Region>);
  const size_t id = kFirstVirtualRegion + regions_.size();
  CHECK(id < kUnknownBytes);
  regions_.push_back({pattern, bytes, true, std::pmr::map<uint64_t, Content>(nodes_.get())});
  return static_cast<RegionId>(id);
}

void VirtualMemory::remove(RegionId region) {
  Region& gone = at(region);
  gone.live = false;
  gone.written.clear();
}

uint64_t VirtualMemory::pattern(RegionId name) const {
  CHECK(is_virtual(name) && name - kFirstVirtualRegion < regions_.size());
  return regions_[name - kFirstVirtualRegion].pattern;
}

uint64_t VirtualMemory::bytes(RegionId region) const { return at(region).bytes; }

void VirtualMemory::check(const Payload& range) const {
  const Region& region = at(range.region);
  CHECK(range.offset <= region.bytes && range.length <= region.bytes - range.offset);
}

void VirtualMemory::read(const Payload& range, std::vector<Content>& pieces) const {
  check(range);
  const Region& region = at(range.region);
  const size_t first = pieces.size();
  const uint64_t end = range.offset + range.length;
  uint64_t at = range.offset;
  auto next = region.written.upper_bound(at);
  if (next != region.written.begin()) --next;
  while (at < end) {
    while (next != region.written.end() && next->first + next->second.length <= at) ++next;
    const bool known = next != region.written.end() && next->first <= at;
    uint64_t stop = end;
    if (known) {
      stop = std::min(end, next->first + next->second.length);
      append(pieces, first, slice(next->second, at - next->first, stop - at));
    } else {
      if (next != region.written.end()) stop = std::min(end, next->first);
      append(pieces, first, {range.region, at, stop - at});
    }
    at = stop;
  }
}

Content VirtualMemory::read_one(const Payload& range) const {
  check(range);
  const Region& region = at(range.region);
  if (region.written.empty()) return {range.region, range.offset, range.length};
  std::vector<Content> pieces;
  read(range, pieces);
  if (pieces.size() == 1) return pieces.front();
  return {kUnknownBytes, 0, range.length};
}

void VirtualMemory::write(RegionId id, uint64_t offset, const Content& content) {
  if (content.length == 0) return;
  check({id, offset, content.length});
  Region& region = at(id);
  // Fast path: most writes continue the previous one, which needs no search and no allocation.
  auto next = region.written.lower_bound(offset);
  if (next != region.written.begin()) {
    auto previous = std::prev(next);
    const uint64_t end = previous->first + previous->second.length;
    const bool room = next == region.written.end() || next->first >= offset + content.length;
    if (end == offset && room && continues(previous->second, content)) {
      previous->second.length += content.length;
      if (next != region.written.end() && next->first == offset + content.length &&
          continues(previous->second, next->second)) {
        previous->second.length += next->second.length;
        region.written.erase(next);
      }
      return;
    }
  }
  erase(region, offset, content.length);
  next = region.written.lower_bound(offset);
  if (next != region.written.end() && next->first == offset + content.length &&
      continues(content, next->second)) {
    Content joined = content;
    joined.length += next->second.length;
    next = region.written.erase(next);
    region.written.emplace_hint(next, offset, joined);
    return;
  }
  region.written.emplace_hint(next, offset, content);
}

void VirtualMemory::reset(const Payload& range) {
  check(range);
  erase(at(range.region), range.offset, range.length);
}

void VirtualMemory::erase(Region& region, uint64_t offset, uint64_t length) {
  const uint64_t end = offset + length;
  auto next = region.written.lower_bound(offset);
  if (next != region.written.begin()) {
    auto previous = std::prev(next);
    const uint64_t previous_end = previous->first + previous->second.length;
    if (previous_end > end) {
      const Content rest = slice(previous->second, end - previous->first, previous_end - end);
      region.written.emplace_hint(next, end, rest);
    }
    if (previous_end > offset) previous->second.length = offset - previous->first;
  }
  while (next != region.written.end() && next->first < end) {
    const uint64_t next_end = next->first + next->second.length;
    if (next_end > end) {
      const Content rest = slice(next->second, end - next->first, next_end - end);
      next = region.written.erase(next);
      region.written.emplace_hint(next, end, rest);
      return;
    }
    next = region.written.erase(next);
  }
}

const VirtualMemory::Region& VirtualMemory::at(RegionId region) const {
  CHECK(is_virtual(region) && region - kFirstVirtualRegion < regions_.size());
  const Region& found = regions_[region - kFirstVirtualRegion];
  CHECK(found.live);
  return found;
}

VirtualMemory::Region& VirtualMemory::at(RegionId region) {
  return const_cast<Region&>(static_cast<const VirtualMemory*>(this)->at(region));
}

}  // namespace heddle::simulator
