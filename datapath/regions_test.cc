// The region table: ids, patterns, strided copies, and overlapping copies.
#include "datapath/regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"

namespace heddle::datapath {
namespace {

using transport::Payload;
using transport::PayloadAt;
using transport::Placement;
using transport::RegionId;

std::vector<std::byte> patterned(uint64_t pattern, uint64_t at, size_t bytes) {
  std::vector<std::byte> out(bytes);
  fill_pattern(pattern, at, out);
  return out;
}

TEST(Pattern, BulkFillEqualsByteByByteAtEveryAlignment) {
  for (uint64_t at = 0; at < 20; ++at) {
    const auto bulk = patterned(7, at, 45);
    for (size_t i = 0; i < bulk.size(); ++i) EXPECT_EQ(bulk[i], pattern_byte(7, at + i));
  }
}

TEST(Pattern, KnownBytesStayTheSameInEveryBuild) {
  const auto bytes = patterned(1, (1ull << 40) + 3, 4);
  const uint8_t expected[] = {111, 8, 52, 74};
  for (size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(std::to_integer<int>(bytes[i]), expected[i]);
}

// A misplaced word, or another message's bytes, must not pass the check.
TEST(Pattern, DiffersBetweenPlacesAndPatterns) {
  const auto base = patterned(5, 0, 256);
  for (uint64_t shift = 1; shift < 64; ++shift) EXPECT_NE(base, patterned(5, shift, 256));
  for (uint64_t pattern = 6; pattern < 70; ++pattern) {
    for (uint64_t at = 0; at < 64; at += 8) {
      const auto other = patterned(pattern, at, 8);
      EXPECT_EQ(std::search(base.begin(), base.end(), other.begin(), other.end()), base.end());
    }
  }
}

TEST(Pattern, MismatchNamesTheFirstWrongByte) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const uint64_t at = random.below(1'000'000);
    auto bytes = patterned(9, at, 1 + random.below(100));
    EXPECT_EQ(pattern_mismatch(9, at, bytes), bytes.size());
    const size_t wrong = random.below(bytes.size());
    for (size_t i = wrong; i < bytes.size(); ++i) bytes[i] ^= std::byte{1};
    EXPECT_EQ(pattern_mismatch(9, at, bytes), wrong);
  }
  EXPECT_EQ(pattern_mismatch(9, 4, {}), 0u);
}

TEST(RegionTable, ResolvesWithinBoundsAndReusesIds) {
  std::vector<std::byte> memory(100);
  RegionTable table;
  const RegionId first = table.add_host(memory.data(), memory.size());
  const RegionId second = table.add_virtual(4, 1'000'000);
  EXPECT_NE(first, second);
  EXPECT_EQ(table.resolve({first, 40, 60}), memory.data() + 40);
  EXPECT_EQ(table.at(second).pattern, 4u);
  EXPECT_EQ(table.at(second).start, nullptr);
  table.remove(first);
  EXPECT_EQ(table.add_host(memory.data(), 1), first);
}

TEST(RegionTableDeathTest, AccessOutsideARegisteredRegionAborts) {
  std::vector<std::byte> memory(100);
  RegionTable table;
  const RegionId host = table.add_host(memory.data(), memory.size());
  const RegionId virtual_region = table.add_virtual(4, 100);
  EXPECT_DEATH(table.resolve({host, 41, 60}), "CHECK failed");
  EXPECT_DEATH(table.resolve({host, UINT64_MAX, 2}), "CHECK failed");
  EXPECT_DEATH(table.resolve({virtual_region, 0, 1}), "CHECK failed");
  EXPECT_DEATH(table.resolve({17, 0, 1}), "CHECK failed");
  table.remove(host);
  EXPECT_DEATH(table.resolve({host, 0, 1}), "CHECK failed");
  EXPECT_DEATH(table.remove(host), "CHECK failed");
}

TEST(RegionTable, PlacesStridedPiecesOfAFrame) {
  std::vector<std::byte> target(64, std::byte{0xEE});
  const auto frame = patterned(2, 0, 64);
  RegionTable table;
  const RegionId region = table.add_host(target.data(), target.size());
  Placement placement;
  placement.source = frame.data() + 4;
  placement.source_step = 14;
  placement.segments = 4;
  placement.bytes = 10;
  placement.last_bytes = 3;
  placement.to_region = region;
  placement.to_offset = 8;
  table.place({&placement, 1});
  std::vector<std::byte> expected(64, std::byte{0xEE});
  for (size_t s = 0; s < 4; ++s) {
    std::memcpy(&expected[8 + s * 10], &frame[4 + s * 14], s == 3 ? 3 : 10);
  }
  EXPECT_EQ(target, expected);
}

TEST(RegionTable, PlacesVirtualBytesAsTheirPattern) {
  std::vector<std::byte> target(100, std::byte{0xEE});
  RegionTable table;
  const RegionId to = table.add_host(target.data(), target.size());
  Placement placement;
  placement.payload_at = PayloadAt::kVirtual;
  placement.from = {table.add_virtual(77, 1u << 30), 123'456, 25};
  placement.segments = 3;
  placement.bytes = 10;
  placement.last_bytes = 5;
  placement.to_region = to;
  placement.to_offset = 50;
  table.place({&placement, 1});
  EXPECT_EQ(pattern_mismatch(77, 123'456, {&target[50], 25}), 25u);
  EXPECT_EQ(target[49], std::byte{0xEE});
  EXPECT_EQ(target[75], std::byte{0xEE});
}

TEST(RegionTable, NothingToCopyTouchesNothing) {
  RegionTable table;
  std::array<Placement, 2> none;
  none[1].segments = 1;
  none[1].payload_at = PayloadAt::kPlaced;
  table.place(none);
}

// Copies of a batch act as if all sources were read before any target is written, whatever the
// overlap.
TEST(RegionTable, PlacedCopiesMayOverlapInAnyWay) {
  Random random(11);
  constexpr size_t kBytes = 240;
  for (int round = 0; round < 2'000; ++round) {
    auto memory = patterned(static_cast<uint64_t>(round), 0, kBytes);
    const auto before = memory;
    auto expected = memory;
    RegionTable table;
    const RegionId region = table.add_host(memory.data(), memory.size());
    const size_t count = 1 + random.below(6);
    const uint64_t piece = kBytes / count;  // targets are disjoint, like those of messages
    std::vector<Placement> placements(count);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t step = 1 + random.below(piece);
      Placement& p = placements[i];
      p.payload_at = PayloadAt::kPlaced;
      p.segments = static_cast<uint32_t>(piece / step);
      p.bytes = static_cast<uint32_t>(step);
      p.last_bytes = static_cast<uint32_t>(1 + random.below(step));
      const uint64_t total = (p.segments - 1) * step + p.last_bytes;
      p.from = {region, random.below(kBytes - total + 1), total};
      p.to_region = region;
      p.to_offset = i * piece;
      std::memcpy(&expected[p.to_offset], &before[p.from.offset], total);
    }
    for (size_t i = count; i > 1; --i) std::swap(placements[i - 1], placements[random.below(i)]);
    table.place(placements);
    ASSERT_EQ(memory, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace heddle::datapath
