// Messages of heddle in captures, from packets that the codec of the protocol writes.
#include "recordings/capture/heddle_flows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "recordings/testing/capture_writer.h"

namespace heddle::recordings {
namespace {

using testing::ElementsAre;
MATCHER_P2(Row, size, count, "") {
  return arg.least == static_cast<uint64_t>(size) && arg.most == arg.least &&
         arg.count == static_cast<uint64_t>(count);
}

constexpr uint8_t kData = 0x28, kControl = 0x29, kRepeat = 0x2a;

// Little-endian, as protocol.md has it.
std::string little(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

struct Segment {
  uint8_t first = kData;
  uint8_t flags = 0;
  uint16_t path = 0;
  uint64_t number = 1;
  uint32_t sequence = 100;
  uint32_t offset = 0;
  uint32_t message_bytes = 0;
  size_t carried_bytes = 0;
  uint64_t connection = 0x1122334455667788;
};

std::string header(const Segment& segment) {
  return little(segment.first, 1) + little(segment.flags, 1) + little(segment.path, 2) +
         little(segment.connection, 8) + little(segment.number, 8) + little(123'456, 8) +
         little(40'000, 2);
}

std::string packet(const Segment& segment) {
  return header(segment) + little(3, 2) + little(segment.sequence, 4) + little(segment.offset, 4) +
         little(segment.message_bytes, 4) + std::string(segment.carried_bytes, 'p');
}

std::string control(const Segment& segment, const std::string& frames) {
  return header(segment) + frames;
}

class HeddleCapture : public testing::Test {
 protected:
  bool add(const std::string& payload, size_t captured_bytes = SIZE_MAX) {
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

TEST_F(HeddleCapture, AMessageOverTwoPathsIsPutTogether) {
  for (const auto& [path, number, offset, bytes] : std::vector<std::array<uint32_t, 4>>{
           {1, 1, 1400, 1400}, {0, 1, 0, 1400}, {1, 2, 2800, 200}}) {
    EXPECT_TRUE(add(packet({.path = static_cast<uint16_t>(path),
                            .number = number,
                            .offset = offset,
                            .message_bytes = 3000,
                            .carried_bytes = bytes})));
  }
  const CaptureSizes sizes = finish();
  ASSERT_EQ(sizes.classes.size(), 1u);
  EXPECT_EQ(sizes.classes[0].name, "heddle data");
  EXPECT_THAT(sizes.classes[0].packet_sizes.rows(), ElementsAre(Row(200, 1), Row(1400, 2)));
  EXPECT_THAT(sizes.classes[0].message_sizes.rows(), ElementsAre(Row(3000, 1)));
  EXPECT_THAT(sizes.classes[0].packets_of_message.rows(), ElementsAre(Row(3, 1)));
  EXPECT_EQ(sizes.classes[0].gaps, 0u);
}

// A row of parity over packets of `connection`, which is 100 bytes long.
std::string parity(uint64_t connection) {
  const std::string head = little(0x2b, 1) + little(1, 1) + little(1, 1) + little(0, 1) +
                           little(7, 2) + little(4, 1) + little(1, 1) + little(connection, 8);
  return head + std::string(100 - head.size(), 's');
}

TEST_F(HeddleCapture, ParityIsAClassOfItsOwn) {
  EXPECT_TRUE(
      add(little(0x2b, 1) + little(1, 1) + little(0, 2) + little(18'700, 2) + little(0, 2)));
  EXPECT_TRUE(add(packet({.message_bytes = 10, .carried_bytes = 10})));
  EXPECT_TRUE(add(parity(Segment{}.connection)));
  EXPECT_FALSE(add(parity(99)));
  const CaptureSizes sizes = finish();
  ASSERT_EQ(sizes.classes.size(), 2u);
  EXPECT_EQ(sizes.classes[1].name, "heddle parity");
  EXPECT_EQ(sizes.classes[1].flows, 1u);
  EXPECT_THAT(sizes.classes[1].packet_sizes.rows(), ElementsAre(Row(8, 1), Row(100, 1)));
  EXPECT_EQ(sizes.heddle.packets, 3u);
  EXPECT_EQ(sizes.heddle.malformed, 0u);
}

std::string greeting(uint8_t format, uint8_t kind, uint8_t mtu, uint16_t port, uint16_t reserved,
                     uint32_t queue_pair, uint32_t key) {
  return little(0x2c, 1) + little(format, 1) + little(kind, 1) + little(mtu, 1) + little(port, 2) +
         little(reserved, 2) + little(queue_pair, 4) + little(key, 4) + little(~uint64_t{0}, 8);
}

TEST_F(HeddleCapture, GreetingsOfUdCountWithTheHandshake) {
  EXPECT_TRUE(add(greeting(1, 1, 1, 18'700, 0, 0, 0)));
  EXPECT_TRUE(add(greeting(1, 3, 5, 1, 0, 0xff'ffff, 0x7fff'ffff)));
  const std::string others[] = {
      greeting(2, 1, 1, 1, 0, 0, 0),           greeting(1, 0, 1, 1, 0, 0, 0),
      greeting(1, 4, 1, 1, 0, 0, 0),           greeting(1, 1, 0, 1, 0, 0, 0),
      greeting(1, 1, 6, 1, 0, 0, 0),           greeting(1, 1, 1, 0, 0, 0, 0),
      greeting(1, 1, 1, 1, 1, 0, 0),           greeting(1, 1, 1, 1, 0, 0x100'0000, 0),
      greeting(1, 1, 1, 1, 0, 0, 0x8000'0000), greeting(1, 1, 1, 1, 0, 0, 0) + "x",
      greeting(1, 1, 1, 1, 0, 0, 0).substr(1)};
  for (const std::string& other : others) EXPECT_FALSE(add(other));
  EXPECT_FALSE(add(greeting(1, 1, 1, 18'700, 0, 0, 0), 20));
  const CaptureSizes sizes = finish();
  ASSERT_EQ(sizes.classes.size(), 1u);
  EXPECT_EQ(sizes.classes[0].name, "heddle handshake");
  EXPECT_THAT(sizes.classes[0].packet_sizes.rows(), ElementsAre(Row(24, 2)));
  EXPECT_EQ(sizes.heddle.packets, 2u);
  EXPECT_EQ(sizes.heddle.malformed, 0u);
}

TEST_F(HeddleCapture, AtANamedPortGreetingsThatAreCutOrWrongAreCounted) {
  HeddleFlows named{{18'700}};
  const std::string wrong = greeting(1, 4, 1, 1, 0, 0, 0);
  UdpDatagram datagram;
  datagram.to_port = 18'700;
  datagram.payload_bytes = 24;
  datagram.payload = std::as_bytes(std::span(wrong));
  EXPECT_TRUE(named.add(nanos(1), datagram));
  datagram.payload = datagram.payload.first(20);
  EXPECT_TRUE(named.add(nanos(2), datagram));
  CaptureSizes sizes;
  named.finish(sizes);
  EXPECT_EQ(sizes.heddle.packets, 2u);
  EXPECT_EQ(sizes.heddle.malformed, 1u);
  EXPECT_EQ(sizes.heddle.unread, 1u);
}

TEST_F(HeddleCapture, ParityThatTheCaptureCutIsCountedAtANamedPort) {
  HeddleFlows named{{18'700}};
  const std::string cut = parity(99).substr(0, 12);
  UdpDatagram datagram;
  datagram.to_port = 18'700;
  datagram.payload_bytes = 100;
  datagram.payload = std::as_bytes(std::span(cut));
  EXPECT_TRUE(named.add(nanos(1), datagram));
  CaptureSizes sizes;
  named.finish(sizes);
  EXPECT_EQ(sizes.heddle.packets, 1u);
  EXPECT_EQ(sizes.heddle.malformed, 0u);
}

TEST_F(HeddleCapture, ALostSegmentIsAGapAndItsRetransmissionCompletesTheMessage) {
  add(packet({.number = 1, .message_bytes = 300, .carried_bytes = 100}));
  add(packet({.number = 3, .offset = 200, .message_bytes = 300, .carried_bytes = 100}));
  add(packet({.flags = 2, .path = 1, .offset = 100, .message_bytes = 300, .carried_bytes = 100}));
  add(packet({.first = kRepeat,
              .path = 1,
              .number = 2,
              .sequence = 101,
              .message_bytes = 9,
              .carried_bytes = 9}));
  add(packet({.number = 4, .sequence = 102, .message_bytes = 900, .carried_bytes = 100}));
  const TrafficClass data = finish().classes.at(0);
  EXPECT_EQ(data.messages, 2u);
  EXPECT_EQ(data.incomplete_messages, 1u);
  EXPECT_EQ(data.missing_packets, 1u);
  EXPECT_EQ(data.repeated_packets, 2u);
}

TEST_F(HeddleCapture, ALateRetransmissionBeginsNoNewMessage) {
  add(packet({.message_bytes = 50, .carried_bytes = 50}));
  add(packet({.flags = 2, .path = 1, .message_bytes = 50, .carried_bytes = 50}));
  const TrafficClass data = finish().classes.at(0);
  EXPECT_EQ(data.messages, 1u);
  EXPECT_EQ(data.incomplete_messages, 0u);
}

TEST_F(HeddleCapture, ANumberThatNoSenderReachesIsNoGap) {
  add(packet({.number = 1, .message_bytes = 50, .carried_bytes = 50}));
  add(packet({.number = UINT64_MAX, .sequence = 101, .message_bytes = 50, .carried_bytes = 50}));
  add(packet({.number = 2, .sequence = 102, .message_bytes = 50, .carried_bytes = 50}));
  EXPECT_EQ(finish().classes.at(0).missing_packets, 0u);
}

// Found by capture_fuzz: late control packets were counted as data.
TEST_F(HeddleCapture, LatePacketsAreCountedInTheirClass) {
  add(packet({.number = 1, .message_bytes = 50, .carried_bytes = 50}));
  for (const uint64_t number : {6, 2, 3, 4}) {
    add(control({.first = kControl, .flags = 4, .number = number}, little(7, 1)));
  }
  const CaptureSizes sizes = finish();
  EXPECT_EQ(sizes.classes.at(0).late_packets, 0u);
  EXPECT_EQ(sizes.classes.at(0).missing_packets, 1u);
  EXPECT_EQ(sizes.classes.at(1).late_packets, 3u);
}

TEST_F(HeddleCapture, ASmallMessageInAControlPacketIsSeen) {
  const std::string ping = little(7, 1);
  const std::string message = little(11, 1) + little(3, 2) + little(5, 4) + std::string(77, 'm');
  EXPECT_TRUE(add(control({.first = kControl, .flags = 4}, ping + message)));
  const CaptureSizes sizes = finish();
  EXPECT_EQ(sizes.classes.at(0).name, "heddle control");
  EXPECT_THAT(sizes.classes.at(0).message_sizes.rows(), ElementsAre(Row(77, 1)));
}

TEST_F(HeddleCapture, TagsOfKeysAreNoPayload) {
  const std::string sealed(40, '\xe7');  // no frame has this type
  add(packet({.number = 1, .sequence = 1, .message_bytes = 100, .carried_bytes = 116}));
  for (uint32_t i = 0; i < 3; ++i) {
    add(packet(
        {.number = 2 + i, .offset = 1000 * i, .message_bytes = 3000, .carried_bytes = 1016}));
  }
  EXPECT_TRUE(add(control({.first = kControl}, sealed)));
  const CaptureSizes sizes = finish();
  EXPECT_THAT(sizes.classes.at(0).packet_sizes.rows(), ElementsAre(Row(100, 1), Row(1000, 3)));
  EXPECT_THAT(sizes.classes.at(0).message_sizes.rows(), ElementsAre(Row(100, 1), Row(3000, 1)));
  EXPECT_EQ(sizes.heddle.protected_connections, 1u);
  EXPECT_EQ(sizes.heddle.opaque_control, 1u);
}

TEST_F(HeddleCapture, SegmentsMergedByAnOffloadAreSplit) {
  std::string merged;
  for (uint32_t i = 0; i < 4; ++i) {
    merged += packet({.number = 5 + i,
                      .offset = 1000 * i,
                      .message_bytes = 3500,
                      .carried_bytes = i < 3 ? 1000u : 500u});
  }
  EXPECT_TRUE(add(merged));
  const CaptureSizes sizes = finish();
  EXPECT_THAT(sizes.classes.at(0).packet_sizes.rows(), ElementsAre(Row(500, 1), Row(1000, 3)));
  EXPECT_THAT(sizes.classes.at(0).packets_of_message.rows(), ElementsAre(Row(4, 1)));
  EXPECT_EQ(sizes.heddle.merged, 1u);
  EXPECT_EQ(sizes.heddle.packets, 4u);
}

TEST_F(HeddleCapture, AMergedPacketThatTheCaptureCutHasNoSize) {
  std::string merged;
  for (uint32_t i = 0; i < 12; ++i) {
    merged += packet(
        {.number = 1 + i, .offset = 1000 * i, .message_bytes = 50'000, .carried_bytes = 1000});
  }
  EXPECT_TRUE(add(merged, 100));
  EXPECT_TRUE(add(
      packet({.number = 13, .offset = 12'000, .message_bytes = 50'000, .carried_bytes = 1000})));
  const CaptureSizes sizes = finish();
  EXPECT_THAT(sizes.classes.at(0).packet_sizes.rows(), ElementsAre(Row(1000, 1)));
  EXPECT_EQ(sizes.classes.at(0).gaps, 0u);
  EXPECT_EQ(sizes.heddle.merged_and_cut, 1u);
}

TEST_F(HeddleCapture, OtherProtocolsAreNotTakenForIt) {
  for (const std::string& other :
       {std::string("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07"
                    "example\x00",
                    21),
        std::string(1200, '\x28'), std::string(64, '\x29'), std::string("("), std::string(),
        packet({.number = 0, .message_bytes = 10, .carried_bytes = 10}),
        packet({.message_bytes = 10, .carried_bytes = 90}),
        control({.first = kControl}, std::string(20, '\xe7'))}) {
    EXPECT_FALSE(add(other)) << other;
  }
  EXPECT_TRUE(finish().classes.empty());
}

TEST_F(HeddleCapture, OpenMessagesHaveABound) {
  const uint32_t count = HeddleMessages::kMostOpen + 5;
  for (uint32_t i = 0; i < count; ++i) {
    add(packet({.number = i + 1, .sequence = i, .message_bytes = 1000, .carried_bytes = 100}));
  }
  EXPECT_EQ(finish().classes.at(0).incomplete_messages, count);
}

TEST(HeddleFlowsPorts, AMalformedPacketToANamedPortIsCounted) {
  HeddleFlows flows{{18'700}};
  UdpDatagram datagram;
  datagram.to_port = 18'700;
  datagram.payload_bytes = 3;
  const std::string text = "abc";
  datagram.payload = std::as_bytes(std::span(text));
  EXPECT_TRUE(flows.add({}, datagram));
  CaptureSizes sizes;
  flows.finish(sizes);
  EXPECT_EQ(sizes.heddle.malformed, 1u);
}

}  // namespace
}  // namespace heddle::recordings
