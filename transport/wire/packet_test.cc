// Behaviour of the headers of packets: round trips, positions that predictions rely on, and rows.
#include "transport/wire/packet.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace heddle::transport {
namespace {

DataHeader sample() {
  DataHeader header;
  header.base.type = PacketType::kData;
  header.base.flags = kFlagAckNow | kFlagRetransmission;
  header.base.path = 0x1234;
  header.base.connection = 0x89abcdef01234567;
  header.base.number = 0x1122334455667788;
  header.base.sent_at = Nanos{-77};
  header.base.reply_port = 0xfedc;
  header.channel = 0x0102;
  header.sequence = 0xfffffffe;
  header.offset = 0x3fffff00;
  header.message_bytes = 0x40000000;
  return header;
}

std::vector<std::byte> data_headers(const DataHeader& first, uint32_t count,
                                    uint32_t payload_bytes) {
  std::vector<std::byte> bytes(size_t{count} * kDataHeaderBytes);
  write_data_headers(first, count, {payload_bytes}, bytes.data());
  return bytes;
}

TEST(FirstByteTest, CarriesVersionAndType) {
  for (const PacketType type :
       {PacketType::kInit, PacketType::kVersion, PacketType::kRetransmission}) {
    for (const uint8_t version : {uint8_t{0}, kWireVersion, uint8_t{15}}) {
      const std::byte first{first_byte(type, version)};
      EXPECT_EQ(version_of(first), version);
      EXPECT_EQ(type_of(first), type);
    }
  }
}

TEST(DataHeaderTest, EveryFieldSurvives) {
  const DataHeader written = sample();
  std::array<std::byte, kDataHeaderBytes> bytes;
  write_data_header(written, bytes.data());
  const DataHeader read = read_data_header(bytes.data());
  EXPECT_EQ(read.base.type, written.base.type);
  EXPECT_EQ(read.base.flags, written.base.flags);
  EXPECT_EQ(read.base.path, written.base.path);
  EXPECT_EQ(read.base.connection, written.base.connection);
  EXPECT_EQ(read.base.number, written.base.number);
  EXPECT_EQ(read.base.sent_at, written.base.sent_at);
  EXPECT_EQ(read.base.reply_port, written.base.reply_port);
  EXPECT_EQ(read.channel, written.channel);
  EXPECT_EQ(read.sequence, written.sequence);
  EXPECT_EQ(read.offset, written.offset);
  EXPECT_EQ(read.message_bytes, written.message_bytes);
}

TEST(DataHeaderTest, FieldsStandWhereTheProtocolSaysInLittleEndian) {
  std::array<std::byte, kDataHeaderBytes> bytes;
  write_data_header(sample(), bytes.data());
  EXPECT_EQ(bytes[0], std::byte{0x28});  // version 2, data
  EXPECT_EQ(bytes[1], std::byte{3});
  EXPECT_EQ(bytes[2], std::byte{0x34});  // path
  EXPECT_EQ(bytes[kConnectionAt], std::byte{0x67});
  EXPECT_EQ(bytes[kNumberAt], std::byte{0x88});
  EXPECT_EQ(bytes[kSentAt], std::byte{0xb3});  // send time: -77
  EXPECT_EQ(bytes[28], std::byte{0xdc});       // reply port
  EXPECT_EQ(bytes[kChannelAt], std::byte{0x02});
  EXPECT_EQ(bytes[32], std::byte{0xfe});  // sequence
  EXPECT_EQ(bytes[kOffsetAt + 3], std::byte{0x3f});
  EXPECT_EQ(bytes[43], std::byte{0x40});  // message bytes
}

TEST(BurstTest, NumbersAndOffsetsRiseAndTheRestStays) {
  const DataHeader first = sample();
  const std::vector<std::byte> bytes = data_headers(first, 5, 1000);
  for (uint32_t i = 0; i < 5; ++i) {
    const DataHeader read = read_data_header(bytes.data() + size_t{i} * kDataHeaderBytes);
    EXPECT_EQ(read.base.number, first.base.number + i);
    EXPECT_EQ(read.offset, first.offset + i * 1000);
    EXPECT_EQ(read.base.sent_at, first.base.sent_at);
    EXPECT_EQ(read.sequence, first.sequence);
    EXPECT_TRUE(
        continues_burst(bytes.data(), bytes.data() + size_t{i} * kDataHeaderBytes, i, 1000));
  }
}

TEST(BurstTest, ASegmentLeftOutEndsTheBurst) {
  const std::vector<std::byte> bytes = data_headers(sample(), 3, 1000);
  EXPECT_FALSE(continues_burst(bytes.data(), bytes.data() + 2 * kDataHeaderBytes, 1, 1000));
}

TEST(BurstTest, AnotherStepEndsTheBurst) {
  const std::vector<std::byte> bytes = data_headers(sample(), 2, 1000);
  EXPECT_FALSE(continues_burst(bytes.data(), bytes.data() + kDataHeaderBytes, 1, 999));
}

TEST(BurstTest, AnyOtherByteThatDiffersEndsTheBurst) {
  for (size_t at = 0; at < kDataHeaderBytes; ++at) {
    std::vector<std::byte> bytes = data_headers(sample(), 2, 1000);
    bytes[kDataHeaderBytes + at] ^= std::byte{0x40};
    EXPECT_FALSE(continues_burst(bytes.data(), bytes.data() + kDataHeaderBytes, 1, 1000)) << at;
  }
}

TEST(BurstTest, OnlyTheLastSegmentAsksForTheAcknowledgement) {
  DataHeader first = sample();
  first.base.flags = kFlagAckNow | kFlagRetransmission;
  const std::vector<std::byte> bytes = data_headers(first, 3, 1000);
  for (uint32_t i = 0; i < 3; ++i) {
    const std::byte* at = bytes.data() + size_t{i} * kDataHeaderBytes;
    EXPECT_EQ(read_data_header(at).base.flags,
              i == 2 ? kFlagAckNow | kFlagRetransmission : kFlagRetransmission);
    EXPECT_TRUE(continues_burst(bytes.data(), at, i, 1000));
  }
  EXPECT_EQ(read_data_header(data_headers(first, 1, 1000).data()).base.flags,
            kFlagAckNow | kFlagRetransmission);
}

TEST(OriginalWriteTest, PathEpochAndNumberSurvive) {
  for (const uint64_t number : {uint64_t{0}, uint64_t{1}, (uint64_t{1} << 40) - 1}) {
    const OriginalWrite read = unpack_original(pack(OriginalWrite{255, 65535, number}));
    EXPECT_EQ(read.path, 255u);
    EXPECT_EQ(read.epoch, 65535u);
    EXPECT_EQ(read.number, number);
  }
}

}  // namespace
}  // namespace heddle::transport
