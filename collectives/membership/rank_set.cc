// RankSet: see rank_set.h. One byte says the form; numbers are in little-endian order.
#include "collectives/membership/rank_set.h"

#include <algorithm>
#include <bit>

namespace heddle::collectives {
namespace {

constexpr std::byte kRuns{0};
constexpr std::byte kBits{1};
constexpr size_t kRunBytes = 8;

void put(std::byte* bytes, uint64_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
}

uint64_t take(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

}  // namespace

uint32_t RankSet::count() const {
  uint32_t count = 0;
  for (const uint64_t word : bits_) count += static_cast<uint32_t>(std::popcount(word));
  return count;
}

void RankSet::insert_all(const RankSet& others) {
  for (size_t i = 0; i < std::min(bits_.size(), others.bits_.size()); ++i) {
    bits_[i] |= others.bits_[i];
  }
}

std::vector<uint32_t> RankSet::ranks() const {
  std::vector<uint32_t> all;
  for (size_t i = 0; i < bits_.size(); ++i) {
    for (uint64_t rest = bits_[i]; rest != 0; rest &= rest - 1) {
      all.push_back(static_cast<uint32_t>(64 * i + static_cast<size_t>(std::countr_zero(rest))));
    }
  }
  return all;
}

std::vector<RankSet::Run> RankSet::runs() const {
  std::vector<Run> all;
  for (const uint32_t rank : ranks()) {
    if (all.empty() || all.back().first + all.back().ranks != rank) all.push_back({rank, 0});
    ++all.back().ranks;
  }
  return all;
}

std::string RankSet::text() const {
  std::string text;
  for (const Run& run : runs()) {
    text += (text.empty() ? "" : ", ") + std::to_string(run.first);
    if (run.ranks > 1)
      text += (run.ranks == 2 ? ", " : " to ") + std::to_string(run.first + run.ranks - 1);
  }
  return text.empty() ? "none" : text;
}

size_t RankSet::write(std::span<std::byte> room) const {
  const std::vector<Run> all = runs();
  const size_t as_runs = 1 + kRunBytes * all.size();
  const size_t as_bits = 1 + (size_t{size_} + 7) / 8;
  if (std::min(as_runs, as_bits) > room.size()) return 0;
  if (as_bits < as_runs) {
    room[0] = kBits;
    for (size_t i = 0; i + 1 < as_bits; ++i) {
      room[1 + i] = static_cast<std::byte>(bits_[i / 8] >> (8 * (i % 8)));
    }
    return as_bits;
  }
  room[0] = kRuns;
  for (size_t i = 0; i < all.size(); ++i) {
    put(room.data() + 1 + kRunBytes * i, all[i].first, 4);
    put(room.data() + 5 + kRunBytes * i, all[i].ranks, 4);
  }
  return as_runs;
}

std::optional<RankSet> RankSet::read(std::span<const std::byte> bytes, uint32_t size) {
  if (bytes.empty()) return std::nullopt;
  RankSet set(size);
  const std::span<const std::byte> rest = bytes.subspan(1);
  if (bytes[0] == kBits) {
    if (rest.size() != (size_t{size} + 7) / 8) return std::nullopt;
    for (size_t i = 0; i < rest.size(); ++i) {
      set.bits_[i / 8] |= static_cast<uint64_t>(rest[i]) << (8 * (i % 8));
    }
    const bool beyond = size % 64 != 0 && (set.bits_.back() >> (size % 64)) != 0;
    return beyond ? std::nullopt : std::optional(set);
  }
  if (bytes[0] != kRuns || rest.size() % kRunBytes != 0) return std::nullopt;
  for (size_t at = 0; at < rest.size(); at += kRunBytes) {
    const uint64_t first = take(rest.subspan(at, 4));
    const uint64_t end = first + take(rest.subspan(at + 4, 4));
    if (end > size) return std::nullopt;
    for (uint64_t rank = first; rank < end; ++rank) set.insert(static_cast<uint32_t>(rank));
  }
  return set;
}

}  // namespace heddle::collectives
