// The region table, virtual bytes, and the copies after a receive.
#include "datapath/regions.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/hash.h"

namespace heddle::datapath {

using transport::Payload;
using transport::PayloadAt;
using transport::Placement;
using transport::RegionId;

namespace {

constexpr uint64_t kWord = sizeof(uint64_t);

// Spreads a pattern over 64 bits, so that adjacent patterns share no bytes.
uint64_t pattern_key(uint64_t pattern) { return mix_bits(pattern + 0x9e3779b97f4a7c15); }

// The eight bytes of word `index`, lowest address first.
uint64_t pattern_word(uint64_t key, uint64_t index) {
  uint64_t z = (index * 0x9e3779b97f4a7c15) ^ key;
  z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93;
  z ^= z >> 32;
  if constexpr (std::endian::native == std::endian::big) return __builtin_bswap64(z);
  return z;
}

// Calls visit(piece of at most a word, its offset in the range, its length) over [at, at + bytes).
// Stops and returns false if visit does.
template <typename Visit>
bool for_each_word(uint64_t pattern, uint64_t at, size_t bytes, Visit visit) {
  const uint64_t key = pattern_key(pattern);
  size_t done = 0;
  while (done < bytes) {
    const uint64_t place = at + done;
    const size_t skip = place % kWord;
    const size_t length = std::min<size_t>(kWord - skip, bytes - done);
    const uint64_t word = pattern_word(key, place / kWord);
    std::byte piece[kWord];
    std::memcpy(piece, &word, kWord);
    if (!visit(piece + skip, done, length)) return false;
    done += length;
  }
  return true;
}

uint64_t total_bytes(const Placement& placement) {
  if (placement.segments == 0) return 0;
  return uint64_t{placement.segments - 1} * placement.bytes + placement.last_bytes;
}

}  // namespace

std::byte pattern_byte(uint64_t pattern, uint64_t at) {
  std::byte one{};
  fill_pattern(pattern, at, {&one, 1});
  return one;
}

void fill_pattern(uint64_t pattern, uint64_t at, std::span<std::byte> target) {
  std::byte* out = target.data();
  for_each_word(pattern, at, target.size(), [out](const std::byte* piece, size_t offset, size_t n) {
    if (n == kWord) {
      std::memcpy(out + offset, piece, kWord);
    } else {
      std::memcpy(out + offset, piece, n);
    }
    return true;
  });
}

size_t pattern_mismatch(uint64_t pattern, uint64_t at, std::span<const std::byte> bytes) {
  size_t wrong = bytes.size();
  const std::byte* in = bytes.data();
  for_each_word(pattern, at, bytes.size(), [&](const std::byte* piece, size_t offset, size_t n) {
    if (std::memcmp(in + offset, piece, n) == 0) return true;
    size_t i = 0;
    while (in[offset + i] == piece[i]) ++i;
    wrong = offset + i;
    return false;
  });
  return wrong;
}

RegionId RegionTable::add_host(void* start, uint64_t bytes) {
  CHECK(start != nullptr);
  return add({static_cast<std::byte*>(start), bytes, 0, true});
}

RegionId RegionTable::add_virtual(uint64_t pattern, uint64_t bytes) {
  return add({nullptr, bytes, pattern, true});
}

RegionId RegionTable::add(const Region& region) {
  if (free_.empty()) {
    regions_.push_back(region);
    return static_cast<RegionId>(regions_.size() - 1);
  }
  const RegionId id = free_.back();
  free_.pop_back();
  regions_[id] = region;
  return id;
}

void RegionTable::remove(RegionId region) {
  CHECK(region < regions_.size() && regions_[region].live);
  regions_[region] = {};
  free_.push_back(region);
}

const Region& RegionTable::at(RegionId region) const {
  CHECK(region < regions_.size() && regions_[region].live);
  return regions_[region];
}

std::byte* RegionTable::resolve(const Payload& payload) const {
  const Region& region = at(payload.region);
  CHECK(region.start != nullptr);
  CHECK(payload.offset <= region.bytes && payload.length <= region.bytes - payload.offset);
  return region.start + payload.offset;
}

void RegionTable::place(std::span<const Placement> placements) {
  save_endangered(placements);
  size_t next_saved = 0;
  for (size_t i = 0; i < placements.size(); ++i) {
    const Placement& placement = placements[i];
    const uint64_t total = total_bytes(placement);
    if (total == 0) continue;
    std::byte* to = resolve({placement.to_region, placement.to_offset, total});
    if (placement.payload_at == PayloadAt::kFrame) {
      const std::byte* from = placement.source;
      for (uint32_t s = 0; s + 1 < placement.segments; ++s) {
        std::memcpy(to, from, placement.bytes);
        to += placement.bytes;
        from += placement.source_step;
      }
      std::memcpy(to, from, placement.last_bytes);
    } else if (placement.payload_at == PayloadAt::kVirtual) {
      const Region& source = at(placement.from.region);
      CHECK(source.start == nullptr && placement.from.offset + total <= source.bytes);
      fill_pattern(source.pattern, placement.from.offset, {to, total});
    } else if (next_saved < saved_.size() && saved_[next_saved].placement == i) {
      std::memcpy(to, bounce_.data() + saved_[next_saved++].offset, total);
    } else {
      std::memmove(to, resolve({placement.from.region, placement.from.offset, total}), total);
    }
  }
}

void RegionTable::save_endangered(std::span<const Placement> placements) {
  saved_.clear();
  size_t used = 0;
  for (size_t i = 1; i < placements.size(); ++i) {
    if (placements[i].payload_at != PayloadAt::kPlaced || !endangered(placements, i)) continue;
    const uint64_t total = total_bytes(placements[i]);
    if (bounce_.size() < used + total) bounce_.resize(used + total);
    const Payload& from = placements[i].from;
    std::memcpy(bounce_.data() + used, resolve({from.region, from.offset, total}), total);
    saved_.push_back({i, used});
    used += total;
  }
}

// True if an earlier copy of the batch writes into the source of the one at `index`.
bool RegionTable::endangered(std::span<const Placement> placements, size_t index) const {
  const Payload& from = placements[index].from;
  const uint64_t length = total_bytes(placements[index]);
  if (length == 0) return false;
  const std::byte* source = resolve({from.region, from.offset, length});
  for (const Placement& earlier : placements.first(index)) {
    const uint64_t total = total_bytes(earlier);
    if (total == 0) continue;
    const std::byte* to = resolve({earlier.to_region, earlier.to_offset, total});
    if (to < source + length && source < to + total) return true;
  }
  return false;
}

}  // namespace heddle::datapath
