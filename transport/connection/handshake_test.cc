// Handshake: two sides by themselves, whose packets the test carries.
#include "transport/connection/handshake.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "transport/connection/parts.h"
#include "transport/testing/send_fixture.h"

namespace heddle::transport {
namespace {

constexpr Nanos kNow = seconds(100);

Address address_of(uint8_t host) {
  Address address;
  address.host[15] = host;
  address.port = 4791;
  return address;
}

// One side, with an endpoint of its own.
struct Side {
  Side(const EndpointOptions& options, ConnectionId id)
      : shared(options, id, nullptr),
        parts(shared, ConnectionIdentity(id, id + 1000, address_of(9)), listener),
        extensions(parts),
        handshake(parts, extensions) {}

  // The packets that it sends.
  InitPacket sent_init(Nanos now) {
    batch->clear();
    EXPECT_TRUE(handshake.send_init(now, *batch));
    InitPacket init;
    EXPECT_TRUE(read_init(bytes(), init));
    return init;
  }
  AcceptPacket sent_accept() {
    batch->clear();
    EXPECT_TRUE(handshake.send_accept(*batch));
    AcceptPacket accept;
    EXPECT_TRUE(read_accept(bytes(), accept));
    return accept;
  }
  std::span<const std::byte> bytes() const {
    const TxBurst& burst = batch->bursts()[0];
    return {burst.headers, burst.header_bytes};
  }

  Shared shared;
  Keeper listener;
  ConnectionParts parts;
  ExtensionSet extensions;
  Handshake handshake;
  std::unique_ptr<TxBatch> batch = std::make_unique<TxBatch>();
};

EndpointOptions options_of(uint16_t paths, uint32_t datagram) {
  EndpointOptions options;
  options.reply_port = 4791;
  options.max_paths = paths;
  options.default_paths = paths;
  options.max_datagram_bytes = datagram;
  return options;
}

class HandshakePartTest : public ::testing::Test {
 protected:
  Side client_{options_of(8, 1472), 1};
  Side server_{options_of(4, 8972), 2};

  void begin(const ConnectionOptions& options = {}) {
    ASSERT_TRUE(client_.handshake.begin_connect(kNow, options));
  }
  // The server has accepted; the client has not got the answer.
  AcceptPacket accept() {
    const InitPacket init = client_.sent_init(kNow);
    server_.handshake.begin_accept(init, 0);
    server_plan_ = plan(server_, init.parameters);
    server_.handshake.send_accept_for(init);
    server_.parts.sender.open(kNow, std::move(server_plan_.send));
    return server_.sent_accept();
  }
  static OpenPlan plan(Side& side, const HandshakeParameters& peer) {
    Result<OpenPlan> plan = side.handshake.plan(peer, micros(10));
    EXPECT_TRUE(plan);
    return std::move(*plan);
  }

  OpenPlan server_plan_;
};

TEST_F(HandshakePartTest, BothSidesAgreeOnTheSmallerOfTheirLimits) {
  begin();
  const AcceptPacket answer = accept();
  ASSERT_TRUE(client_.handshake.is_answer(answer.nonce));
  client_.handshake.on_accept(answer, 0);
  const OpenPlan plan = this->plan(client_, answer.parameters);
  EXPECT_EQ(plan.send.paths, 4);
  EXPECT_EQ(plan.send.largest_datagram, 1472u);
  EXPECT_EQ(plan.peer_limits.max_posted, EndpointOptions{}.max_posted);
}

TEST_F(HandshakePartTest, EachSideLearnsTheOthersNames) {
  begin();
  client_.handshake.on_accept(accept(), 0);
  EXPECT_EQ(client_.parts.identity.peer_id, 2u);
  EXPECT_EQ(client_.parts.identity.peer_wire_id, 1002u);
  EXPECT_EQ(server_.parts.identity.peer_id, 1u);
  EXPECT_EQ(server_.parts.identity.peer_wire_id, 1001u);
  EXPECT_TRUE(client_.parts.identity.initiator);
  EXPECT_FALSE(server_.parts.identity.initiator);
}

TEST_F(HandshakePartTest, AnInitWithoutAnswerIsSentAgainAndLater) {
  begin();
  EXPECT_TRUE(client_.handshake.init_due(kNow));
  client_.sent_init(kNow);
  const Nanos second = client_.handshake.next_timeout();
  EXPECT_GT(second, kNow);
  client_.sent_init(second);
  EXPECT_EQ(client_.handshake.next_timeout() - second, 2 * (second - kNow));
}

// No answer came within 5 s while half of the spines were out.
TEST_F(HandshakePartTest, LaterInitsLeaveOnTwoPaths) {
  begin();
  Nanos now = kNow;
  std::set<uint16_t> paths;
  for (int i = 0; i < 6; ++i, now = client_.handshake.next_timeout()) {
    client_.sent_init(now);
    ASSERT_EQ(client_.batch->bursts().size(), i < 3 ? 1u : 2u);
    for (const TxBurst& burst : client_.batch->bursts()) paths.insert(burst.path);
  }
  EXPECT_EQ(paths.size(), 8u);
}

TEST_F(HandshakePartTest, ARetryMakesTheNextInitCarryItsCookieAtOnce) {
  begin();
  const InitPacket first = client_.sent_init(kNow);
  EXPECT_FALSE(first.has_cookie);
  RetryPacket retry;
  retry.connection = first.connection;
  retry.nonce = first.nonce;
  retry.cookie.fill(std::byte{5});
  client_.handshake.on_retry(kNow + millis(1), retry, 0);
  EXPECT_TRUE(client_.handshake.init_due(kNow + millis(1)));
  const InitPacket second = client_.sent_init(kNow + millis(1));
  EXPECT_TRUE(second.has_cookie);
  EXPECT_EQ(second.cookie, retry.cookie);
  EXPECT_EQ(second.nonce, first.nonce);
}

TEST_F(HandshakePartTest, ItTimesOutWithAnErrorThatMentionsTheHint) {
  begin();
  const Nanos timeout = EndpointOptions{}.handshake_timeout;
  EXPECT_FALSE(client_.handshake.timed_out(kNow + timeout - nanos(1)));
  EXPECT_TRUE(client_.handshake.timed_out(kNow + timeout));
  EXPECT_EQ(client_.handshake.timeout_error().code, ErrorCode::kTimeout);
  client_.handshake.note_hint("no such key");
  EXPECT_NE(client_.handshake.timeout_error().why.find("no such key"), std::string::npos);
}

TEST_F(HandshakePartTest, UnknownNamesAreRejected) {
  ConnectionOptions options;
  options.congestion = "none such";
  EXPECT_EQ(client_.handshake.begin_connect(kNow, options).error().code, ErrorCode::kInvalid);
  options = {};
  options.selector = "none such";
  EXPECT_EQ(client_.handshake.begin_connect(kNow, options).error().code, ErrorCode::kInvalid);
  options = {};
  options.paths = 9;
  EXPECT_EQ(client_.handshake.begin_connect(kNow, options).error().code, ErrorCode::kInvalid);
}

TEST_F(HandshakePartTest, APeerWhoseDatagramsAreTooSmallIsRejected) {
  begin();
  InitPacket init = client_.sent_init(kNow);
  init.parameters.max_datagram_bytes = kInitBytes - 1;
  server_.handshake.begin_accept(init, 0);
  const Result<OpenPlan> plan = server_.handshake.plan(init.parameters, {});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kUnavailable);
}

TEST_F(HandshakePartTest, AnInitIsRecognizedByItsNonce) {
  begin();
  InitPacket init = client_.sent_init(kNow);
  server_.handshake.begin_accept(init, 0);
  EXPECT_TRUE(server_.handshake.made_by(init));
  ++init.nonce;
  EXPECT_FALSE(server_.handshake.made_by(init));
}

TEST_F(HandshakePartTest, CreditsAreUsedWhereBothSidesHaveThem) {
  ConnectionOptions options;
  options.congestion = "credits";
  begin(options);
  const AcceptPacket answer = accept();
  client_.handshake.on_accept(answer, 0);
  EXPECT_EQ(client_.handshake.options().congestion, "credits");
  EXPECT_EQ(server_.handshake.options().congestion, "credits");
}

TEST_F(HandshakePartTest, CreditsFallBackToCubicWhereThePeerHasNone) {
  ConnectionOptions options;
  options.congestion = "credits";
  begin(options);
  AcceptPacket answer = accept();
  answer.parameters.features &= ~kFeatureCredits;
  client_.handshake.on_accept(answer, 0);
  EXPECT_EQ(client_.handshake.options().congestion, "cubic");
}

}  // namespace
}  // namespace heddle::transport
