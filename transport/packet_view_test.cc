// What an observer reads of packets is what the codec wrote, and nothing of what is cut or
// encrypted.
#include "transport/packet_view.h"

#include <gtest/gtest.h>

#include <vector>

#include "transport/wire/control.h"
#include "transport/wire/credit_frames.h"
#include "transport/wire/handshake.h"
#include "transport/wire/nic_frames.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

using Packet = std::vector<std::byte>;

ConnectionHeader header_of(PacketType type, uint8_t flags) {
  return {type, flags, 5, 0x1122334455667788, 77, nanos(1000), 18'700};
}

Packet data_packet(uint64_t number, uint32_t offset, size_t payload_bytes) {
  Packet packet(kDataHeaderBytes + payload_bytes, std::byte{0x5a});
  DataHeader header{header_of(PacketType::kData, kFlagRetransmission), 3, Sequence(9), offset,
                    5000};
  header.base.number = number;
  write_data_header(header, packet.data());
  return packet;
}

// A numbered control packet whose frames `write` writes.
template <typename Write>
Packet control_packet(Write write) {
  Packet packet(1200);
  write_connection_header(header_of(PacketType::kControl, kFlagNumbered), packet.data());
  Writer writer{std::span(packet).subspan(kConnectionHeaderBytes)};
  write(writer);
  packet.resize(packet.size() - writer.left());
  return packet;
}

PacketView view_of(const Packet& packet) {
  const auto view = view_packet(packet, packet.size());
  EXPECT_TRUE(view);
  return view.value_or(PacketView{});
}

TEST(PacketView, HasTheFieldsOfADataPacket) {
  const PacketView view = view_of(data_packet(77, 1000, 1400));
  EXPECT_EQ(view.kind, PacketKind::kData);
  EXPECT_EQ(view.connection, 0x1122334455667788u);
  EXPECT_EQ(view.path, 5);
  EXPECT_TRUE(view.numbered);
  EXPECT_EQ(view.number, 77u);
  EXPECT_TRUE(view.retransmission);
  EXPECT_EQ(view.reply_port, 18'700);
  EXPECT_EQ(view.channel, 3);
  EXPECT_EQ(view.sequence, 9u);
  EXPECT_EQ(view.offset, 1000u);
  EXPECT_EQ(view.message_bytes, 5000u);
  EXPECT_EQ(view.carried_bytes, 1400u);
}

TEST(PacketView, ADataHeaderAloneHasThemToo) {
  const Packet packet = data_packet(77, 1000, 1400);
  const auto view = view_packet(std::span(packet).first(kDataHeaderBytes), packet.size());
  ASSERT_TRUE(view);
  EXPECT_EQ(view->carried_bytes, 1400u);
  EXPECT_FALSE(view_packet(std::span(packet).first(kDataHeaderBytes - 1), packet.size()));
}

TEST(PacketView, ReadsOverEveryFrameUpToASmallMessage) {
  const Packet packet = control_packet([](Writer& writer) {
    AckFrame ack;
    ack.range_count = 2;
    ack.ranges[0] = {20, 30};
    ack.ranges[1] = {3, 7};
    write_ack_times({nanos(5), 1000}, writer);
    write_ack(ack, writer);
    write_grant({1, Sequence(4), 2, 100}, writer);
    write_cancel(FrameType::kCancelSend, {1, Sequence(4)}, writer);
    write_cancel(FrameType::kCancelReceive, {1, Sequence(4)}, writer);
    write_cancel(FrameType::kDelivered, {1, Sequence(4)}, writer);
    write_close(CloseReason::kAborted, writer);
    writer.put(static_cast<uint8_t>(FrameType::kPing));
    write_fence(FrameType::kFenced, {1, PathEpoch(2)}, writer);
    write_fence(FrameType::kAskFence, {1, PathEpoch(2)}, writer);
    write_demand({DemandSerial(1), 2, 3}, writer);
    write_credit({4, 5}, writer);
    write_nic_frame(FrameType::kNicProbe, {8}, writer);
    write_nic_frame(FrameType::kNicAnswer, {8}, writer);
    write_trim({1, 9}, writer);
    write_message({6, Sequence(7)}, writer);
    writer.put_zeros(33);
  });
  const PacketView view = view_of(packet);
  EXPECT_EQ(view.frames, FramesView::kRead);
  ASSERT_TRUE(view.message);
  EXPECT_EQ(view.message->channel, 6);
  EXPECT_EQ(view.message->sequence, 7u);
  EXPECT_EQ(view.message->bytes, 33u);
}

TEST(PacketView, ACutOrEncryptedPacketHasNoFrames) {
  Packet packet = control_packet([](Writer& writer) { writer.put_zeros(50); });
  EXPECT_EQ(view_of(packet).frames, FramesView::kRead);  // padding
  EXPECT_EQ(view_packet(std::span(packet).first(40), packet.size())->frames, FramesView::kCut);
  packet.back() = std::byte{1};
  EXPECT_EQ(view_of(packet).frames, FramesView::kOpaque);
}

TEST(PacketView, AnInitSaysWhetherThereAreKeys) {
  for (const bool keys : {false, true}) {
    InitPacket init;
    init.connection = 1;
    init.wire_id = 99;
    init.reply_port = 18'700;
    init.parameters.max_paths = 4;
    init.parameters.max_channels = 4;
    init.parameters.max_posted = 4;
    init.parameters.key.present = keys;
    Packet packet(kInitBytes);
    size_t mac_at = 0;
    packet.resize(write_init(init, packet, mac_at));
    const PacketView view = view_of(packet);
    EXPECT_EQ(view.kind, PacketKind::kHandshake);
    EXPECT_EQ(view.connection, 99u);
    EXPECT_TRUE(view.has_parameters);
    EXPECT_EQ(view.has_key, keys);
  }
}

TEST(PacketView, OtherPacketsOfTheHandshakeHaveTheirLengths) {
  Packet retry(kInitBytes), refuse(kInitBytes), version(kInitBytes), reset(kInitBytes);
  retry.resize(write_retry({.connection = 1, .nonce = 2}, retry));
  refuse.resize(write_refuse({.connection = 1, .nonce = 2, .proven = true}, refuse));
  version.resize(write_version({.connection = 1, .nonce = 2}, version));
  reset.resize(write_reset({.connection = 1, .path = 2, .number = 3}, reset));
  for (Packet* const packet : {&retry, &refuse, &version}) {
    EXPECT_EQ(view_of(*packet).kind, PacketKind::kHandshake);
    packet->push_back(std::byte{0});
    EXPECT_FALSE(view_packet(*packet, packet->size()));
  }
  EXPECT_EQ(view_of(reset).kind, PacketKind::kReset);
}

TEST(PacketView, OtherVersionsAndImpossibleFieldsAreNone) {
  Packet packet = data_packet(77, 1000, 10);
  packet[0] = std::byte{0x38};
  EXPECT_FALSE(view_packet(packet, packet.size()));
  packet = data_packet(0, 1000, 10);
  EXPECT_FALSE(view_packet(packet, packet.size()));
  packet = data_packet(77, 5001, 10);
  EXPECT_FALSE(view_packet(packet, packet.size()));
  EXPECT_FALSE(view_packet(std::span(packet).first(0), 0));
}

TEST(MergedStride, IsTheDistanceOfHeaders) {
  Packet merged = data_packet(77, 0, 100);
  EXPECT_EQ(merged_stride(merged), 0u);
  for (const uint64_t i : {1, 2}) {
    const Packet next = data_packet(77 + i, static_cast<uint32_t>(100 * i), 100);
    merged.insert(merged.end(), next.begin(), next.end());
  }
  EXPECT_EQ(merged_stride(merged), kDataHeaderBytes + 100);
  EXPECT_EQ(merged_stride(std::span(merged).first(kDataHeaderBytes + 110)), 0u);
}

// Found by capture_fuzz: a reset is shorter than a header of a connection.
TEST(MergedStride, AResetBehindAPacketIsNone) {
  Packet packet(kConnectionHeaderBytes);
  write_connection_header(header_of(PacketType::kControl, kFlagNumbered), packet.data());
  Packet reset(kInitBytes);
  reset.resize(write_reset({.connection = 0x1122334455667788, .path = 5, .number = 78}, reset));
  packet.insert(packet.end(), reset.begin(), reset.end());
  EXPECT_EQ(merged_stride(packet), 0u);
  EXPECT_EQ(merged_stride(reset), 0u);
}

// A payload may be of packets of this protocol: of the same connection only where it has seen them.
TEST(MergedStride, AnEarlierHeaderInThePayloadIsNone) {
  Packet packet = data_packet(77, 0, 100);
  const Packet earlier = data_packet(76, 0, 20);
  std::copy(earlier.begin(), earlier.end(), packet.begin() + kDataHeaderBytes + 3);
  EXPECT_EQ(merged_stride(packet), 0u);
}

}  // namespace
}  // namespace heddle::transport
