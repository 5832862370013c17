// Records: what is written is read again, and no other bytes are read as records.
#include "copying/records.h"

#include <gtest/gtest.h>

#include <vector>

#include "copying/params.h"

namespace heddle::copying {
namespace {

TEST(Records, AnEntryIsReadAsItWasWrittenWithAnyBytesInItsName) {
  std::vector<std::byte> message(1000);
  RecordWriter writer(message);
  ASSERT_TRUE(writer.add({.kind = RecordKind::kLink,
                          .id = 7,
                          .path = "a\n\xff/b",
                          .target = "../c",
                          .mode = 0751,
                          .mtime_ns = -5}));
  const std::span<const std::byte> written(message.data(), writer.bytes());
  RecordReader reader(written);
  const auto record = reader.next();
  ASSERT_TRUE(record && record->has_value());
  EXPECT_EQ((*record)->id, 7u);
  EXPECT_EQ((*record)->path, "a\n\xff/b");
  EXPECT_EQ((*record)->target, "../c");
  EXPECT_EQ((*record)->mode, 0751u);
  EXPECT_EQ((*record)->mtime_ns, -5);
  EXPECT_FALSE(reader.next()->has_value());
}

TEST(Records, AHelloOfAnotherVersionNamesTheSideToUpgradeWhateverItsFields) {
  for (const uint32_t other : {params::kVersion - 1, params::kVersion + 1}) {
    std::vector<std::byte> message(1000);
    RecordWriter writer(message);
    ASSERT_TRUE(writer.add({.kind = RecordKind::kHello, .path = "a", .version = other}));
    const size_t version_end = 9;
    // As it is, with a field that ends too early, and with none behind the version.
    for (const size_t bytes : {writer.bytes(), writer.bytes() - 1, version_end}) {
      message[1] = static_cast<std::byte>(bytes - 5);  // its length, behind the kind
      const std::span<const std::byte> part(message.data(), bytes);
      RecordReader reader(part);
      const auto record = reader.next();
      ASSERT_FALSE(record) << bytes;
      EXPECT_EQ(record.error().code, ErrorCode::kVersion);
      EXPECT_EQ(record.error().todo, other < params::kVersion
                                         ? "upgrade heddle on the sender's machine"
                                         : "upgrade heddle on the receiver's machine");
    }
  }
}

TEST(Records, WhatDoesNotFitIsNotWritten) {
  std::vector<std::byte> message(40);
  RecordWriter writer(message);
  EXPECT_FALSE(writer.add({.kind = RecordKind::kOffer, .path = std::string(100, 'x')}));
  EXPECT_EQ(writer.bytes(), 0u);
}

TEST(Records, EveryCutOfAMessageIsRefusedOrEndsBehindARecord) {
  std::vector<std::byte> message(1000);
  RecordWriter writer(message);
  ASSERT_TRUE(writer.add({.kind = RecordKind::kOffer, .id = 1, .path = "a", .size = 3}));
  const size_t first = writer.bytes();
  ASSERT_TRUE(writer.add({.kind = RecordKind::kWanted, .id = 1}));
  for (size_t cut = 1; cut < writer.bytes(); ++cut) {
    const std::span<const std::byte> part(message.data(), cut);
    RecordReader reader(part);
    const auto record = reader.next();
    EXPECT_EQ(record.has_value(), cut >= first) << cut;
    if (cut > first) {
      EXPECT_FALSE(reader.next()) << cut;
    }
  }
}

}  // namespace
}  // namespace heddle::copying
