// A peer that shows its cookie and then keeps to no rule: what it sends is written by hand, packet
// by packet, and neither memory nor time grows beyond what it sent.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/endpoint.h"
#include "transport/wire/control.h"
#include "transport/wire/handshake.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

class HandWrittenPeerTest : public ::testing::Test {
 protected:
  HandWrittenPeerTest() {
    options_.accept = true;
    options_.reply_port = 1;
    options_.max_connections = 4;
    options_.max_datagram_bytes = 8972;
    from_.host[15] = 9;
    from_.port = kPort;
  }
  void start() { endpoint_ = std::make_unique<Endpoint>(options_, 7, nullptr); }

  // Gives the endpoint one datagram; returns the headers of the first that it answers.
  std::vector<std::byte> give(std::span<const std::byte> bytes) {
    RxRun run;
    run.from = from_;
    run.received_at = now_;
    run.segments = 1;
    run.segment_bytes = run.last_segment_bytes = static_cast<uint32_t>(bytes.size());
    run.frame = bytes.data();
    endpoint_->handle_run(now_, run);
    return drain();
  }
  std::vector<std::byte> drain() {
    endpoint_->clear_placements();
    Completion completion;
    while (endpoint_->poll_completion(completion)) continue;
    Notice notice;
    while (endpoint_->poll_notice(notice)) continue;
    std::vector<std::byte> first;
    batch_->clear();
    while (endpoint_->poll_transmit(now_, *batch_)) {
      const TxBurst& burst = batch_->bursts()[0];
      if (first.empty()) first.assign(burst.headers, burst.headers + burst.header_bytes);
      batch_->clear();
    }
    return first;
  }

  // The same of a packet that a switch has cut off.
  std::vector<std::byte> give_trimmed(std::span<const std::byte> bytes) {
    RxRun run;
    run.trimmed = true;
    run.from = from_;
    run.received_at = now_;
    run.segments = 1;
    run.segment_bytes = run.last_segment_bytes = static_cast<uint32_t>(bytes.size());
    run.frame = bytes.data();
    endpoint_->handle_run(now_, run);
    return drain();
  }

  // The answer to an init with these parameters and the cookie.
  std::vector<std::byte> ask(uint32_t id, const HandshakeParameters& parameters) {
    InitPacket init;
    init.connection = id;
    init.wire_id = id;
    init.nonce = id;
    init.reply_port = kPort;
    init.parameters = parameters;
    std::array<std::byte, kInitBytes> space{};
    write_init(init, space);
    RetryPacket retry;
    EXPECT_TRUE(read_retry(give(space), retry));
    init.has_cookie = true;
    init.cookie = retry.cookie;
    write_init(init, space);
    return give(space);
  }
  // A new connection: its id, and what packets to the endpoint call it.
  struct Opened {
    ConnectionId id = 0;
    WireId wire_id = 0;
  };
  Opened open(uint32_t id) {
    AcceptPacket accept;
    EXPECT_TRUE(read_accept(ask(id, kParameters), accept));
    return {accept.accepted_as, accept.wire_id};
  }

  // A control packet without a number, with what `write` puts into it.
  template <typename Write>
  std::vector<std::byte> give_control(WireId id, uint16_t port, Write write) {
    std::vector<std::byte> packet(8972);
    ConnectionHeader header;
    header.type = PacketType::kControl;
    header.connection = id;
    header.reply_port = port;
    write_connection_header(header, packet.data());
    Writer writer{std::span<std::byte>(packet).subspan(kConnectionHeaderBytes)};
    write(writer);
    return give(std::span(packet).first(packet.size() - writer.left()));
  }

  static constexpr uint16_t kPort = 4000;
  static constexpr HandshakeParameters kParameters = {8,  8972, 1 << 20, 64, 1024, 8192,
                                                      16, 0,    0,       0,  {}};
  EndpointOptions options_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<TxBatch> batch_ = std::make_unique<TxBatch>();
  Address from_;
  Nanos now_ = seconds(1);
};

// The entry was once looked up by the peer's latest port, so it was never removed.
TEST_F(HandWrittenPeerTest, APeerThatMovesToAnotherPortLeavesNothingInTheIndexOfAccepted) {
  start();
  size_t held = 0;
  for (uint32_t i = 1; i <= 2000; ++i) {
    give_control(open(i).wire_id, kPort + 1,
                 [](Writer& writer) { write_close(CloseReason::kAborted, writer); });
    ASSERT_EQ(endpoint_->connections(), 0u);
    now_ += millis(1);
    if (i == 100) held = endpoint_->bytes_held();
  }
  EXPECT_LE(endpoint_->bytes_held(), held);
}

// It heard that its congestion control was unknown.
TEST_F(HandWrittenPeerTest, APeerOfSmallDatagramsHearsThatTheyAreTooSmall) {
  start();
  HandshakeParameters small = kParameters;
  small.max_datagram_bytes = 500;
  RefusePacket refuse;
  ASSERT_TRUE(read_refuse(ask(5, small), refuse));
  EXPECT_EQ(refuse.reason, RefuseReason::kDatagramsTooSmall);
  HandshakeParameters odd = kParameters;
  odd.congestion = {'o', 'd', 'd'};
  ASSERT_TRUE(read_refuse(ask(6, odd), refuse));
  EXPECT_EQ(refuse.reason, RefuseReason::kCongestionUnknown);
}

// Segments of one byte at every other offset made the record of what had arrived grow for ever.
TEST_F(HandWrittenPeerTest, ScrapsOfAMessageAreKeptUpToABound) {
  start();
  const auto [id, wire_id] = open(1);
  constexpr uint32_t kBytes = 1 << 20;
  ASSERT_TRUE(endpoint_->post_receive(now_, {id, 0}, {0, 0, kBytes}, 1));
  uint64_t number = 0;
  const auto data = [&, name = wire_id](uint32_t offset, uint32_t bytes) {
    std::vector<std::byte> packet(kDataHeaderBytes + bytes);
    DataHeader header;
    header.base.type = PacketType::kData;
    header.base.connection = name;
    header.base.number = ++number;
    header.base.reply_port = kPort;
    header.sequence = kFirstSequence;
    header.offset = offset;
    header.message_bytes = kBytes;
    write_data_header(header, packet.data());
    give(packet);
  };
  const size_t held = endpoint_->bytes_held();
  for (uint32_t i = 0; i < 20'000; ++i) data(2 * i, 1);
  EXPECT_GT(endpoint_->bytes_held(), held + 4096 * 16) << "they are counted";
  EXPECT_LT(endpoint_->bytes_held(), held + 4096 * 32 + 4096);
  EXPECT_EQ(endpoint_->statistics(id)->payload_bytes_received, 4096u);
  for (uint32_t at = 0; at < kBytes; at += 8192) data(at, 8192);  // and the message gets through
  EXPECT_EQ(endpoint_->statistics(id)->messages_received, 1u);
  EXPECT_LT(endpoint_->bytes_held(), held + 4096 * 16);
}

// What it says of itself is all that is believed: neither bytes nor an acknowledgement.
TEST_F(HandWrittenPeerTest, ATrimmedHeaderIsReportedAndPlacesNothing) {
  start();
  for (const bool reads : {true, false}) {
    HandshakeParameters parameters = kParameters;
    parameters.features = reads ? kFeatureTrims : 0;
    AcceptPacket accept;
    ASSERT_TRUE(read_accept(ask(reads ? 1 : 2, parameters), accept));
    const ConnectionId id = accept.accepted_as;
    ASSERT_TRUE(endpoint_->post_receive(now_, {id, 0}, {0, 0, 1 << 20}, 1));
    drain();
    std::array<std::byte, kDataHeaderBytes> packet{};
    DataHeader header;
    header.base.type = PacketType::kData;
    header.base.connection = accept.wire_id;
    header.base.path = 3;
    header.base.number = 77;
    header.base.reply_port = kPort;
    header.sequence = kFirstSequence;
    header.message_bytes = 1 << 20;
    write_data_header(header, packet.data());
    const std::vector<std::byte> answer = give_trimmed(packet);
    EXPECT_EQ(answer.size(), reads ? kConnectionHeaderBytes + kTrimBytes : 0u);
    if (reads) {
      Reader reader{std::span<const std::byte>(answer).subspan(kConnectionHeaderBytes)};
      EXPECT_EQ(reader.get<uint8_t>(), static_cast<uint8_t>(FrameType::kTrimmed));
      TrimFrame trim;
      ASSERT_TRUE(read_trim(reader, trim));
      EXPECT_EQ(trim.path, 3);
      EXPECT_EQ(trim.number, 77u);
    }
    EXPECT_EQ(endpoint_->statistics(id)->segments_trimmed, 1u);
    EXPECT_EQ(endpoint_->statistics(id)->payload_bytes_received, 0u);
    const size_t held = endpoint_->bytes_held();
    for (int i = 0; i < 200; ++i) {
      header.base.number = static_cast<uint64_t>(100 + i);
      write_data_header(header, packet.data());
      give_trimmed(packet);
    }
    EXPECT_LE(endpoint_->bytes_held(), held + 1024);
    for (size_t bytes = 0; bytes < kConnectionHeaderBytes; ++bytes) {
      EXPECT_TRUE(give_trimmed(std::span(packet).first(bytes)).empty());
    }
  }
}

// A reset carried the id only, of which 16 bits are random: a blind sender met it within 65,535
// datagrams of 8 bytes.
TEST_F(HandWrittenPeerTest, AResetIsBelievedOnlyIfItNamesAPacketThatIsUnderWay) {
  start();
  const ConnectionId id = open(5).id;
  ASSERT_TRUE(endpoint_->post_send(now_, {id, 0}, {0, 0, 10}, 1));
  drain();  // the message went ahead, on a path of its own choice
  const auto reset = [&](uint16_t path, uint64_t number) {
    std::array<std::byte, kInitBytes> space{};
    const size_t bytes = write_reset({5, path, number}, space);
    EXPECT_LE(bytes, kConnectionHeaderBytes) << "larger than what provoked it";
    give(std::span(space).first(bytes));
    give(std::span(space).first(8));  // as it was
  };
  for (uint16_t path = 0; path < 300; ++path) {
    for (const uint64_t number : {uint64_t{0}, uint64_t{2000}, UINT64_MAX}) reset(path, number);
  }
  EXPECT_EQ(endpoint_->connections(), 1u);
  for (uint16_t path = 0; path < 8; ++path) {
    for (uint64_t number = 1; number < 4; ++number) reset(path, number);
  }
  EXPECT_EQ(endpoint_->connections(), 0u);
}

}  // namespace
}  // namespace heddle::transport
