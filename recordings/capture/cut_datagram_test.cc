// Captures that cut datagrams (-s 600): what cannot be known is neither a gap, nor a size, nor a
// sign of keys; what the packets around it prove is counted.
#include "recordings/capture/cut_datagram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "recordings/capture/heddle_flows.h"

namespace heddle::recordings {
namespace {

using testing::ElementsAre;
MATCHER_P2(Row, size, count, "") {
  return arg.least == static_cast<uint64_t>(size) && arg.most == arg.least &&
         arg.count == static_cast<uint64_t>(count);
}

constexpr size_t kCut = 558;  // -s 600, less the headers of Ethernet, IP and UDP
constexpr uint64_t kConnection = 0x1122334455667788;

// Little-endian, as protocol.md has it.
std::string little(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

struct Segment {
  uint64_t number = 1;
  uint32_t sequence = 100;
  uint32_t offset = 0;
  uint32_t message_bytes = 100'000;
  size_t carried_bytes = 1400;
};

std::string packet(const Segment& segment) {
  return little(0x28, 1) + little(0, 1) + little(0, 2) + little(kConnection, 8) +
         little(segment.number, 8) + little(123'456, 8) + little(40'000, 2) + little(3, 2) +
         little(segment.sequence, 4) + little(segment.offset, 4) +
         little(segment.message_bytes, 4) + std::string(segment.carried_bytes, 'p');
}

// `count` packets of equal size, from `number` and `offset` on.
std::string merged(uint32_t count, Segment segment) {
  std::string text;
  for (uint32_t i = 0; i < count; ++i) {
    text += packet(segment);
    ++segment.number;
    segment.offset += static_cast<uint32_t>(segment.carried_bytes);
  }
  return text;
}

// An accept of an endpoint without keys, whose peer sends packets of kConnection.
std::string accept_without_keys() {
  const auto parameter = [](uint16_t type, uint64_t value, size_t bytes) {
    return little(type, 2) + little(bytes, 2) + little(value, bytes);
  };
  return little(0x23, 4) + little(7, 4) + little(99, 8) + little(8, 4) + little(5, 8) +
         little(40'000, 2) + little(kConnection, 8) + parameter(1, 4, 2) + parameter(4, 8, 4) +
         parameter(5, 64, 4) + little(0, 2);
}

class CutCapture : public testing::Test {
 protected:
  bool add(const std::string& payload, size_t captured_bytes = kCut) {
    UdpDatagram datagram;
    datagram.from_port = 40'001;
    datagram.to_port = 18'700;
    datagram.payload_bytes = static_cast<uint32_t>(payload.size());
    datagram.payload =
        std::as_bytes(std::span(payload)).first(std::min(payload.size(), captured_bytes));
    return flows_.add(nanos(at_++), datagram);
  }
  CaptureSizes finish() {
    CaptureSizes sizes;
    flows_.finish(sizes);
    return sizes;
  }

  HeddleFlows flows_{{}};
  int64_t at_ = 0;
};

TEST_F(CutCapture, MergedDatagramsAreNeitherGapsNorKeys) {
  // A message of 16,800 bytes: datagrams of 3 packets; the last one reaches beyond the message's
  // end by the headers between, as a tag would.
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(add(merged(3, {.number = 1 + 3 * i, .offset = 4200 * i, .message_bytes = 16'800})));
  }
  const CaptureSizes sizes = finish();
  const TrafficClass& data = sizes.classes.at(0);
  EXPECT_EQ(data.gaps, 0u);
  EXPECT_EQ(data.missing_packets, 0u);
  EXPECT_EQ(data.packets_not_known, 6u);
  EXPECT_EQ(data.datagrams_not_known, 4u);
  EXPECT_EQ(data.packet_sizes.count(), 0u);
  EXPECT_EQ(data.messages, 0u);
  EXPECT_EQ(data.messages_not_known, 1u);
  EXPECT_THAT(data.message_sizes.rows(), ElementsAre(Row(16'800, 1)));
  EXPECT_EQ(data.packets_per_s(), std::nullopt);
  EXPECT_EQ(sizes.heddle.protected_connections, 0u);
  EXPECT_EQ(sizes.heddle.not_known, 4u);
}

TEST_F(CutCapture, WithTheSameBytesAllIsKnown) {
  for (uint32_t i = 0; i < 4; ++i) {
    add(merged(3, {.number = 1 + 3 * i, .offset = 4200 * i, .message_bytes = 16'800}), SIZE_MAX);
  }
  const TrafficClass data = finish().classes.at(0);
  EXPECT_EQ(data.datagrams_not_known + data.packets_not_known + data.messages_not_known, 0u);
  EXPECT_THAT(data.packet_sizes.rows(), ElementsAre(Row(1400, 12)));
  EXPECT_THAT(data.packets_of_message.rows(), ElementsAre(Row(12, 1)));
}

TEST_F(CutCapture, TheNextNumberProvesOnePacketAndItsLengthThoseOfOthers) {
  for (const uint32_t number : {1, 2, 3, 5, 6}) {
    add(packet({.number = number, .offset = 1400 * (number - 1), .message_bytes = 8400}));
  }
  const CaptureSizes sizes = finish();
  const TrafficClass& data = sizes.classes.at(0);
  EXPECT_THAT(data.packet_sizes.rows(), ElementsAre(Row(1400, 5)));
  EXPECT_EQ(data.missing_packets, 1u);
  EXPECT_EQ(data.gaps, 1u);
  EXPECT_EQ(data.packets_not_known, 0u);
  EXPECT_EQ(data.incomplete_messages, 1u);
  EXPECT_EQ(sizes.heddle.not_known, 0u);
}

TEST_F(CutCapture, MoreNumbersThanTheDatagramHoldsAreMissing) {
  add(packet({.number = 1}));
  add(packet({.number = 10, .offset = 12'600}));
  add(packet({.number = 11, .offset = 14'000}));
  const TrafficClass data = finish().classes.at(0);
  // 1,444 bytes are at most 3 packets of which the second header was not seen.
  EXPECT_EQ(most_packets(1444, kCut), 3u);
  EXPECT_EQ(data.packets_not_known, 2u);
  EXPECT_EQ(data.missing_packets, 6u);
}

TEST_F(CutCapture, HeadersThatWereCutOffAreNoGap) {
  add(merged(5, {.number = 1, .carried_bytes = 300}));
  add(merged(5, {.number = 6, .offset = 1500, .carried_bytes = 300}));
  const CaptureSizes sizes = finish();
  const TrafficClass& data = sizes.classes.at(0);
  EXPECT_EQ(data.packets, 10u);
  EXPECT_THAT(data.packet_sizes.rows(), ElementsAre(Row(300, 4)));
  EXPECT_EQ(data.missing_packets, 0u);
  EXPECT_EQ(data.packets_not_known, 3u);
  EXPECT_EQ(data.datagrams_not_known, 2u);
  EXPECT_EQ(data.incomplete_messages, 0u);
  EXPECT_EQ(data.messages_not_known, 1u);
  EXPECT_EQ(sizes.heddle.unread, 6u);
}

TEST_F(CutCapture, AProvenLengthShowsATag) {
  for (const uint32_t number : {1, 2, 3}) {
    add(packet(
        {.number = number, .sequence = number, .message_bytes = 1400, .carried_bytes = 1416}));
  }
  const CaptureSizes sizes = finish();
  EXPECT_EQ(sizes.heddle.protected_connections, 1u);
  EXPECT_EQ(sizes.classes.at(0).messages, 3u);
}

TEST_F(CutCapture, AHandshakeWithoutKeysDecides) {
  EXPECT_TRUE(add(accept_without_keys()));
  // Whole packets with bytes beyond their messages, and a control packet that has no frames.
  for (const uint32_t number : {1, 2}) {
    add(packet({.number = number, .sequence = number, .message_bytes = 100, .carried_bytes = 116}));
  }
  std::string control = packet({}).substr(0, 30) + std::string(40, '\xe7');
  control[0] = '\x29';
  EXPECT_TRUE(add(control));
  const CaptureSizes sizes = finish();
  EXPECT_EQ(sizes.classes.back().name, "heddle handshake");
  EXPECT_EQ(sizes.heddle.protected_connections, 0u);
  EXPECT_EQ(sizes.heddle.opaque_control, 0u);
  EXPECT_EQ(sizes.heddle.malformed, 1u);
}

TEST(CutDatagram, AWholeOneIsOnePacket) {
  EXPECT_EQ(most_packets(9000, 9000), 1u);
  EXPECT_EQ(most_packets(20, 10), 1u);
  EXPECT_EQ(most_packets(64'000, 60), 128u);
}

}  // namespace
}  // namespace heddle::recordings
