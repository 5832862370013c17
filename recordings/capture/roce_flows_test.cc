// Messages of RoCEv2 in captures: every format and link layer, and what packets that are missing,
// repeated, reordered or cut change.
#include "recordings/capture/roce_flows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "recordings/capture/stream.h"
#include "recordings/testing/capture_writer.h"

namespace heddle::recordings {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint8_t kSendFirst = 0, kSendMiddle = 1, kSendLast = 2, kSendOnlyImmediate = 5;
constexpr uint8_t kWriteFirst = 6, kWriteMiddle = 7, kWriteLast = 8, kWriteLastImmediate = 9;
constexpr uint8_t kWriteOnly = 10, kReadRequest = 12, kReadFirst = 13, kReadMiddle = 14;
constexpr uint8_t kReadLast = 15, kAckOpcode = 17, kFetchAdd = 20;
constexpr uint8_t kUc = 1 << 5, kUd = 3 << 5, kXrc = 5 << 5, kCnp = 0x81;
constexpr uint32_t kMtu = 4096;

CaptureSizes read(const std::string& bytes) {
  std::string copy = bytes;
  const auto sizes =
      read_capture_stream(fmemopen(copy.data(), copy.size(), "r"), "test.pcap", CaptureOptions{});
  EXPECT_TRUE(sizes) << sizes.error().message();
  return sizes ? *sizes : CaptureSizes{};
}

std::string immediate() { return "imm!"; }

// A write as a NIC sends it: FIRST with the DMA length, MIDDLE and LAST.
std::vector<RoceFrame> write_of(uint32_t bytes, uint32_t number, uint8_t service = 0) {
  std::vector<RoceFrame> frames;
  if (bytes <= kMtu) return {{uint8_t(service | kWriteOnly), 17, number, reth(bytes), bytes}};
  for (uint32_t at = 0; at < bytes; at += kMtu, ++number) {
    const uint32_t payload = std::min(kMtu, bytes - at);
    const uint8_t opcode = at == 0 ? kWriteFirst : at + kMtu < bytes ? kWriteMiddle : kWriteLast;
    frames.push_back({uint8_t(service | opcode), 17, number, at == 0 ? reth(bytes) : "", payload});
  }
  return frames;
}

class Frames {
 public:
  Frames& add(const RoceFrame& frame, const UdpFrame& udp = {}) {
    writer_.add(at_, ethernet_frame(udp, roce_payload(frame)));
    at_ += 1000;
    return *this;
  }
  Frames& add(const std::vector<RoceFrame>& frames) {
    for (const RoceFrame& each : frames) add(each);
    return *this;
  }
  CaptureSizes read() const { return recordings::read(writer_.bytes()); }

 private:
  CaptureWriter writer_{{}};
  int64_t at_ = 1'700'000'000'000'000'000;
};

const TrafficClass& only(const CaptureSizes& sizes) {
  EXPECT_EQ(sizes.classes.size(), 1u);
  static const TrafficClass none;
  return sizes.classes.empty() ? none : sizes.classes[0];
}

bool is_row(const SizeRow& row, uint64_t size, uint64_t count) {
  return row.least == size && row.most == size && row.count == count;
}
MATCHER_P2(Row, size, count, "") { return is_row(arg, size, count); }

using Form = std::tuple<CaptureFormat, bool, int, bool, int>;
class EveryForm : public testing::TestWithParam<Form> {};

// As `ib_write_bw -s 1M`: DMA length 1,048,576, FIRST to LAST, 256 packets of 4,096.
TEST_P(EveryForm, AWriteOfAMebibyteHas256Packets) {
  const auto [format, big_endian, link, ipv6, tags] = GetParam();
  CaptureWriter writer({format, big_endian, link, 128});
  int64_t at = 1'700'000'000'000'001'000;
  UdpFrame udp;
  udp.ipv6 = ipv6;
  for (uint32_t message = 0; message < 2; ++message) {
    for (const RoceFrame& frame : write_of(1 << 20, 0xfffff0 + 256 * message)) {
      writer.add(at, link_header(link, ipv6, tags) + udp_packet(udp, roce_payload(frame)));
      at += 1000;
    }
  }
  const CaptureSizes sizes = read(writer.bytes());
  EXPECT_FALSE(sizes.ended_early);
  EXPECT_EQ(sizes.packets, 512u);
  EXPECT_EQ(sizes.shortened, 512u);
  EXPECT_EQ(sizes.snapshot_bytes, 128u);
  EXPECT_EQ(sizes.first->count, 1'700'000'000'000'001'000);
  EXPECT_EQ((sizes.last - *sizes.first).count, 511'000);
  const TrafficClass& write = only(sizes);
  EXPECT_EQ(write.name, "RoCE RC write");
  EXPECT_EQ(write.flows, 1u);
  EXPECT_THAT(write.packet_sizes.rows(), ElementsAre(Row(4096u, 512u)));
  EXPECT_THAT(write.message_sizes.rows(), ElementsAre(Row(1u << 20, 2u)));
  EXPECT_THAT(write.packets_of_message.rows(), ElementsAre(Row(256u, 2u)));
  EXPECT_EQ(write.other_lengths + write.incomplete_messages + write.gaps, 0u);
  EXPECT_NEAR(*write.payload_bits_per_s(), (2 << 20) * 8 / 511e-6, 1);
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryForm,
                         testing::Combine(testing::Values(CaptureFormat::kPcapMicros,
                                                          CaptureFormat::kPcapNanos,
                                                          CaptureFormat::kPcapng),
                                          testing::Bool(), testing::Values(1, 101, 113, 276),
                                          testing::Bool(), testing::Values(0, 1, 2)));

TEST(RoceFlows, ServicesAndOperationsAreClassesOfTheirOwn) {
  Frames frames;
  frames.add(write_of(10'000, 5)).add(write_of(100, 8, kUc));
  frames.add({{kSendFirst, 18, 1, "", 4096}, {kSendMiddle, 18, 2, "", 4096}});
  frames.add({kSendLast, 18, 3, "", 1});
  frames.add({kUd | kSendOnlyImmediate, 19, 1, deth(7) + immediate(), 33});
  frames.add({kXrc | kWriteOnly, 20, 1, std::string(4, 'x') + reth(64), 64});
  const CaptureSizes sizes = frames.read();
  std::vector<std::string> names;
  std::vector<uint64_t> bytes;
  for (const TrafficClass& each : sizes.classes) {
    names.push_back(each.name);
    bytes.push_back(each.message_sizes.total());
    EXPECT_EQ(each.messages, 1u) << each.name;
    EXPECT_EQ(each.other_lengths, 0u) << each.name;
  }
  EXPECT_THAT(names, ElementsAre("RoCE RC send", "RoCE RC write", "RoCE UC write", "RoCE UD send",
                                 "RoCE XRC write"));
  EXPECT_THAT(bytes, ElementsAre(8193u, 10'000u, 100u, 33u, 64u));
}

TEST(RoceFlows, ImmediateDataEndsAWriteAndIsNoPayload) {
  Frames frames;
  frames.add({kWriteFirst, 17, 9, reth(5000), 4096});
  frames.add({kWriteLastImmediate, 17, 10, immediate(), 904});
  EXPECT_THAT(only(frames.read()).message_sizes.rows(), ElementsAre(Row(5000u, 1u)));
}

// The receiver of a gap answers with a NAK, and the sender begins again there (go-back-N).
TEST(RoceFlows, WhatIsSentAgainIsCountedOnceInItsMessage) {
  const auto frames = write_of(10 * kMtu, 100);
  Frames capture;
  for (const size_t at : {0, 1, 2, 4, 5, 6, 3, 4, 5, 6, 7, 8, 9}) capture.add(frames[at]);
  capture.add({kAckOpcode, 44, 103, aeth(0x60), 0}, {2, 1});
  const CaptureSizes sizes = capture.read();
  const TrafficClass& write = only(sizes);
  EXPECT_THAT(write.message_sizes.rows(), ElementsAre(Row(10u * kMtu, 1u)));
  EXPECT_THAT(write.packets_of_message.rows(), ElementsAre(Row(10u, 1u)));
  EXPECT_EQ(write.gaps, 1u);
  EXPECT_EQ(write.late_packets, 1u);
  EXPECT_EQ(write.missing_packets, 0u);
  EXPECT_EQ(write.repeated_packets, 3u);
  EXPECT_EQ(sizes.roce.naks[0], 1u);
}

TEST(RoceFlows, AMessageWithAMissingPacketIsIncompleteOnce) {
  const auto frames = write_of(10 * kMtu, 0);
  Frames capture;
  for (const size_t at : {0, 1, 2, 4, 6, 7, 8, 9}) capture.add(frames[at]);
  capture.add(write_of(100, 10));
  const CaptureSizes sizes = capture.read();
  EXPECT_EQ(only(sizes).messages, 1u);
  EXPECT_EQ(only(sizes).incomplete_messages, 1u);
  EXPECT_EQ(only(sizes).missing_packets, 2u);
  EXPECT_EQ(only(sizes).gaps, 2u);
}

TEST(RoceFlows, ACaptureThatBeginsAndEndsInsideMessagesHasTwoIncompleteOnes) {
  const auto first = write_of(4 * kMtu, 0);
  const auto last = write_of(4 * kMtu, 4);
  Frames capture;
  capture.add({first[2], first[3], last[0], last[1]});
  EXPECT_EQ(only(capture.read()).messages, 0u);
  EXPECT_EQ(only(capture.read()).incomplete_messages, 2u);
  EXPECT_EQ(only(capture.read()).gaps, 0u);
}

TEST(RoceFlows, TheDmaLengthIsComparedWithThePackets) {
  Frames capture;
  capture.add({kWriteFirst, 17, 1, reth(9000), 4096}).add({kWriteLast, 17, 2, "", 4096});
  EXPECT_EQ(only(capture.read()).other_lengths, 1u);
}

// A response uses the numbers of its request, between which requests have others.
TEST(RoceFlows, ReadsAreRequestsAndResponses) {
  Frames capture;
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t number = 10 + 4 * i;
    capture.add({kReadRequest, 17, number, reth(3 * kMtu), 0});
    capture.add({kReadFirst, 44, number, aeth(0), kMtu}, {2, 1});
    capture.add({kReadMiddle, 44, number + 1, "", kMtu}, {2, 1});
    capture.add({kReadLast, 44, number + 2, aeth(0), kMtu}, {2, 1});
    capture.add({kWriteOnly, 17, number + 3, reth(8), 8});
  }
  const CaptureSizes sizes = capture.read();
  ASSERT_EQ(sizes.classes.size(), 2u);
  EXPECT_EQ(sizes.classes[1].name, "RoCE RC read response");
  EXPECT_THAT(sizes.classes[1].message_sizes.rows(), ElementsAre(Row(3u * kMtu, 3u)));
  EXPECT_THAT(sizes.roce.read_requests.rows(), ElementsAre(Row(3u * kMtu, 3u)));
  for (const TrafficClass& each : sizes.classes) {
    EXPECT_EQ(each.gaps + each.incomplete_messages + each.repeated_packets, 0u) << each.name;
  }
}

TEST(RoceFlows, OtherPacketsAreCounted) {
  Frames capture;
  capture.add({kAckOpcode, 17, 1, aeth(0x1f), 0}).add({kAckOpcode, 17, 1, aeth(0x22), 0});
  capture.add({kAckOpcode, 17, 1, aeth(0x62), 0}).add({kCnp, 17, 0, std::string(16, '\0'), 0});
  capture.add({kFetchAdd, 17, 2, std::string(28, '\0'), 0});
  capture.add({0x40, 17, 3, "", 8}).add({30, 17, 3, "", 8});  // RD; no operation has this code
  capture.add({kWriteOnly, 17, 3, "too short", 0});
  UdpFrame marked;
  marked.ecn = 3;
  capture.add({kWriteOnly, 17, 3, reth(8), 8}, marked);
  const RoceCounts roce = capture.read().roce;
  EXPECT_EQ(roce.packets, 9u);
  EXPECT_EQ(roce.acks, 1u);
  EXPECT_EQ(roce.receiver_not_ready, 1u);
  EXPECT_EQ(roce.naks[2], 1u);
  EXPECT_EQ(roce.congestion_notifications, 1u);
  EXPECT_EQ(roce.atomics, 1u);
  EXPECT_EQ(roce.other_opcodes, 2u);
  EXPECT_EQ(roce.malformed, 1u);
  EXPECT_EQ(roce.marked, 1u);
}

TEST(RoceFlows, AQueuePairThatIsMadeAnewHasNoGap) {
  Frames capture;
  capture.add(write_of(3 * kMtu, 100)).add(write_of(3 * kMtu, 9'000'000)).add(write_of(8, 50));
  EXPECT_EQ(only(capture.read()).messages, 3u);
  EXPECT_EQ(only(capture.read()).gaps, 0u);
}

TEST(RoceFlows, FlowsHaveABound) {
  CaptureWriter writer({});
  for (uint32_t pair = 0; pair < RoceFlows::kMostFlows + 10; ++pair) {
    writer.add(pair, ethernet_frame({}, roce_payload({kWriteOnly, pair, 1, reth(8), 8})));
  }
  const CaptureSizes sizes = read(writer.bytes());
  EXPECT_EQ(only(sizes).packets, RoceFlows::kMostFlows + 10);
  EXPECT_EQ(only(sizes).messages, RoceFlows::kMostFlows);
  EXPECT_EQ(sizes.roce.not_followed, 10u);
}

TEST(RoceFlows, HeadersThatWereNotCapturedAreCountedAsCut) {
  CaptureWriter writer({CaptureFormat::kPcapMicros, false, 1, 50});
  writer.add(0, ethernet_frame({}, roce_payload({kWriteOnly, 17, 1, reth(8), 8})));
  const CaptureSizes sizes = read(writer.bytes());
  EXPECT_THAT(sizes.classes, IsEmpty());
  EXPECT_EQ(sizes.roce.cut, 1u);
}

}  // namespace
}  // namespace heddle::recordings
