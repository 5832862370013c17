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

  // The answer to an init with these parameters and the cookie.
  std::vector<std::byte> ask(uint32_t id, const HandshakeParameters& parameters) {
    InitPacket init;
    init.connection = id;
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
  // The endpoint's id of a new connection.
  ConnectionId open(uint32_t id) {
    AcceptPacket accept;
    EXPECT_TRUE(read_accept(ask(id, kParameters), accept));
    return accept.accepted_as;
  }

  // A control packet without a number, with what `write` puts into it.
  template <typename Write>
  std::vector<std::byte> give_control(ConnectionId id, uint16_t port, Write write) {
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

// It was looked up by the port that the peer told last, and so stayed for ever.
TEST_F(HandWrittenPeerTest, APeerThatMovesToAnotherPortLeavesNothingInTheIndexOfAccepted) {
  start();
  size_t held = 0;
  for (uint32_t i = 1; i <= 2000; ++i) {
    const ConnectionId id = open(i);
    give_control(id, kPort + 1, [](Writer& writer) { write_close(CloseReason::kAborted, writer); });
    ASSERT_EQ(endpoint_->connections(), 0u);
    now_ += millis(1);
    if (i == 100) held = endpoint_->bytes_held();
  }
  EXPECT_LE(endpoint_->bytes_held(), held);
}

}  // namespace
}  // namespace heddle::transport
