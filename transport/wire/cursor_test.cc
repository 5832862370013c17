// Behaviour of the cursors: little-endian, bounded, and a reader that remembers running past its
// end.
#include "transport/wire/cursor.h"

#include <gtest/gtest.h>

#include <array>

namespace heddle::transport {
namespace {

TEST(WriterTest, FieldsAreLittleEndianAndAdjacent) {
  std::array<std::byte, 7> space{};
  Writer writer(space);
  writer.put(uint8_t{0x01}).put(uint16_t{0x0302}).put(uint32_t{0x07060504});
  for (size_t i = 0; i < space.size(); ++i) EXPECT_EQ(space[i], std::byte(i + 1));
  EXPECT_EQ(writer.left(), 0u);
}

TEST(WriterTest, BytesAndZerosFollowEachOther) {
  std::array<std::byte, 5> space;
  space.fill(std::byte{0xee});
  const std::array<std::byte, 2> bytes{std::byte{1}, std::byte{2}};
  Writer writer(space);
  writer.put_bytes(bytes).put_zeros(2);
  EXPECT_EQ(writer.left(), 1u);
  EXPECT_EQ(space, (std::array<std::byte, 5>{std::byte{1}, std::byte{2}, std::byte{0}, std::byte{0},
                                             std::byte{0xee}}));
}

TEST(WriterDeathTest, PastItsEndTheProcessStops) {
  std::array<std::byte, 3> space{};
  EXPECT_DEATH(Writer(space).put(uint32_t{1}), "CHECK failed");
  EXPECT_DEATH(Writer(space).put_zeros(4), "CHECK failed");
  const std::array<std::byte, 4> bytes{};
  EXPECT_DEATH(Writer(space).put_bytes(bytes), "CHECK failed");
}

TEST(ReaderTest, ReadsWhatAWriterWrote) {
  std::array<std::byte, 11> space{};
  Writer(space).put(int64_t{-5}).put(uint16_t{513}).put(uint8_t{9});
  Reader reader(space);
  EXPECT_EQ(reader.get<int64_t>(), -5);
  EXPECT_EQ(reader.get<uint16_t>(), 513);
  EXPECT_EQ(reader.left(), 1u);
  EXPECT_EQ(reader.get<uint8_t>(), 9);
  EXPECT_TRUE(reader.ok());
}

TEST(ReaderTest, PastItsEndItGivesZeroAndIsNotOkAnyMore) {
  std::array<std::byte, 3> space;
  space.fill(std::byte{0xff});
  Reader reader(space);
  EXPECT_EQ(reader.get<uint32_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  // What a field too long has skipped is not handed out to a shorter one behind it.
  EXPECT_EQ(reader.get<uint8_t>(), 0u);
  EXPECT_EQ(reader.left(), 0u);
  EXPECT_FALSE(reader.ok());
}

TEST(ReaderTest, TakeGivesAllOrNothing) {
  std::array<std::byte, 4> space{};
  Reader reader(space);
  EXPECT_EQ(reader.take(3).size(), 3u);
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.take(2).empty());
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.left(), 0u);
}

TEST(ReaderTest, TakingNothingFromNothingIsOk) {
  Reader reader({});
  EXPECT_TRUE(reader.take(0).empty());
  EXPECT_TRUE(reader.ok());
}

}  // namespace
}  // namespace heddle::transport
