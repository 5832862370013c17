// Handshakes: lost packets are retransmitted, duplicates have no effect, refusals and other
// versions are reported, and packets of unknown peers cost little.
#include "transport/wire/handshake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "events/events.h"
#include "transport/testing/pair_fixture.h"

namespace heddle::transport {
namespace {

using testing::PairOptions;

PacketType type_of_burst(const TxBurst& burst) { return type_of(burst.headers[0]); }

class HandshakeTest : public testing::PairFixture {
 protected:
  // Runs until the only connection ends, and gives why.
  Error error_of_connect(PairOptions options, const ConnectionOptions& connection = {}) {
    make(std::move(options));
    connect(connection);
    EXPECT_TRUE(pair_->run_until([this] { return seen(0) == 1; }, seconds(20)));
    EXPECT_EQ(notice(0).kind, NoticeKind::kClosed);
    EXPECT_EQ(end(0).connections(), 0u);
    return notice(0).error;
  }
};

TEST_F(HandshakeTest, TakesTwoRoundTrips) {
  PairOptions options;
  start(options);
  EXPECT_LE(pair_->now(), seconds(1) + options.delay * 4);
}

TEST_F(HandshakeTest, EachPacketMayBeLostOnce) {
  for (const PacketType lost : {PacketType::kInit, PacketType::kRetry, PacketType::kAccept}) {
    for (int copy = 0; copy < 2; ++copy) {
      PairOptions options;
      int seen = 0;
      options.drop = [&seen, lost, copy](int, const TxBurst& burst, uint32_t) {
        return type_of_burst(burst) == lost && seen++ == copy;
      };
      start(options);
      EXPECT_TRUE(exchange(1));
      EXPECT_EQ(end(1).connections(), 1u);
    }
  }
}

TEST_F(HandshakeTest, AllOfItMayBeLostForASecond) {
  PairOptions options;
  options.drop = [this](int, const TxBurst&, uint32_t) { return pair_->now() < seconds(2); };
  start(options);
  EXPECT_TRUE(exchange(1));
}

TEST_F(HandshakeTest, DuplicatedHandshakePacketsMakeOneConnection) {
  PairOptions options;
  options.twice_per_million = 1'000'000;
  start(options);
  EXPECT_TRUE(exchange(1));
  EXPECT_EQ(seen(0), 1u);
  EXPECT_EQ(seen(1), 1u);
  EXPECT_EQ(end(1).connections(), 1u);
}

TEST_F(HandshakeTest, AnAcceptThatWasLostIsRepeatedForTheSameConnection) {
  PairOptions options;
  int accepts = 0;
  options.drop = [&accepts](int, const TxBurst& burst, uint32_t) {
    return type_of_burst(burst) == PacketType::kAccept && ++accepts <= 3;
  };
  start(options);
  EXPECT_GE(accepts, 4);
  EXPECT_EQ(seen(1), 1u);
  EXPECT_TRUE(exchange(1));
}

TEST_F(HandshakeTest, InitsTakeDifferentPaths) {
  PairOptions options;
  std::set<uint16_t> paths;
  options.drop = [&paths](int, const TxBurst& burst, uint32_t) {
    if (type_of_burst(burst) == PacketType::kInit) paths.insert(burst.path);
    return type_of_burst(burst) == PacketType::kInit && paths.size() < 4;
  };
  start(options);
  EXPECT_GE(paths.size(), 4u);
}

// All answers once took the first path: if that was dead towards the initiator, no connection
// opened.
TEST_F(HandshakeTest, AnswersTakeDifferentPaths) {
  PairOptions options;
  options.drop = [](int side, const TxBurst& burst, uint32_t) {
    return side == 1 && burst.path == 0;
  };
  start(options);
  EXPECT_TRUE(exchange(1));
}

TEST_F(HandshakeTest, TwoConnectionsBetweenTheSameEndpointsAreApart) {
  start();
  const ConnectionId second = connect();
  ASSERT_TRUE(pair_->run_until([this] { return seen(0) == 2 && seen(1) == 2; }, seconds(1)));
  const ConnectionId second_server = notice(1).connection;
  EXPECT_NE(second, client_);
  EXPECT_NE(second_server, server_);
  ASSERT_TRUE(end(1).post_receive(pair_->now(), {second_server, 0}, {memory_[1], 0, 5000}, 21));
  receive(10'000, 5000, 11);
  send(10'000, 5000, 12);
  ASSERT_TRUE(end(0).post_send(pair_->now(), {second, 0}, {memory_[0], 0, 5000}, 22));
  ASSERT_TRUE(run_until_completed(2, 2));
  EXPECT_TRUE(same(0, 5000));
  EXPECT_TRUE(same(10'000, 5000));
  end(0).post_abort(pair_->now(), client_);
  ASSERT_TRUE(end(1).post_receive(pair_->now(), {second_server, 0}, {memory_[1], 5000, 5000}, 23));
  ASSERT_TRUE(end(0).post_send(pair_->now(), {second, 0}, {memory_[0], 5000, 5000}, 24));
  ASSERT_TRUE(run_until_completed(3, 3));
  EXPECT_EQ(end(0).connections(), 1u);
  EXPECT_EQ(end(1).connections(), 1u);
}

TEST_F(HandshakeTest, BothSidesMayAskAtOnce) {
  PairOptions options;
  options.adjust = [](int, EndpointOptions& endpoint) { endpoint.accept = true; };
  make(options);
  connect({}, 0);
  connect({}, 1);
  ASSERT_TRUE(pair_->run_until([this] { return seen(0) == 2 && seen(1) == 2; }, seconds(1)));
  EXPECT_EQ(end(0).connections(), 2u);
  EXPECT_EQ(end(1).connections(), 2u);
}

TEST_F(HandshakeTest, ASendPostedBeforeTheConnectionOpensIsDelivered) {
  make();
  client_ = connect();
  send(0, 100'000, 1);
  ASSERT_TRUE(pair_->run_until([this] { return seen(1) == 1; }, seconds(1)));
  server_ = notice(1).connection;
  receive(0, 100'000, 2);
  ASSERT_TRUE(run_until_completed(1, 1));
  EXPECT_TRUE(same(0, 100'000));
}

TEST_F(HandshakeTest, TheSideWithFewerPathsDecidesTheirNumber) {
  PairOptions options;
  options.adjust = [](int side, EndpointOptions& endpoint) {
    if (side == 1) endpoint.max_paths = endpoint.default_paths = 3;
  };
  ConnectionOptions many;
  many.paths = 16;
  start(options, many);
  EXPECT_EQ(end(0).path_statistics(client_).size(), 3u);
  EXPECT_TRUE(exchange(1));
}

TEST_F(HandshakeTest, APeerThatDoesNotAcceptSaysSo) {
  PairOptions options;
  options.adjust = [](int, EndpointOptions& endpoint) { endpoint.accept = false; };
  const Error error = error_of_connect(options);
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(error.why, "the peer does not accept connections");
  EXPECT_LT(pair_->now(), seconds(2));
}

TEST_F(HandshakeTest, AFullPeerRefusesAnotherConnection) {
  PairOptions options;
  options.adjust = [](int side, EndpointOptions& endpoint) {
    if (side == 1) endpoint.max_connections = 1;
  };
  start(options);
  connect();
  ASSERT_TRUE(pair_->run_until([this] { return seen(0) == 2; }, seconds(2)));
  EXPECT_EQ(notice(0).error.code, ErrorCode::kUnavailable);
  EXPECT_TRUE(exchange(1));
}

TEST_F(HandshakeTest, AConnectBeyondTheEndpointsOwnLimitFails) {
  PairOptions options;
  options.endpoint.max_connections = 1;
  start(options);
  const auto second = end(0).post_connect(pair_->now(), pair_->address(1), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kExhausted);
}

TEST_F(HandshakeTest, NamesAndPathsThatAreNotThereAreRefusedAtOnce) {
  make();
  for (const ConnectionOptions& options :
       {ConnectionOptions{0, "nonesuch", ""}, ConnectionOptions{0, "", "nonesuch"},
        ConnectionOptions{1000, "", ""}}) {
    const auto connected = end(0).post_connect(pair_->now(), pair_->address(1), options);
    ASSERT_FALSE(connected);
    EXPECT_EQ(connected.error().code, ErrorCode::kInvalid);
  }
  EXPECT_EQ(end(0).connections(), 0u);
}

TEST_F(HandshakeTest, AConnectWithACongestionControlThatThePeerLacksIsRefused) {
  PairOptions options;
  options.tamper = [](int, std::span<std::byte> frame) {
    constexpr std::string_view kName = "cubic";
    const auto name = std::as_bytes(std::span(kName));
    const auto at = std::search(frame.begin(), frame.end(), name.begin(), name.end());
    if (at != frame.end()) *at = std::byte{'x'};
  };
  const Error error = error_of_connect(options);
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(error.why, "the peer does not know that congestion control");
}

TEST_F(HandshakeTest, AnInitOfAnotherVersionIsAnsweredWithOurs) {
  PairOptions options;
  options.tamper = [](int side, std::span<std::byte> frame) {
    if (side == 0) frame[0] = std::byte{first_byte(PacketType::kInit, kWireVersion + 1)};
  };
  const Error error = error_of_connect(options);
  EXPECT_EQ(error.code, ErrorCode::kVersion);
  EXPECT_LT(pair_->now(), seconds(2));
  EXPECT_EQ(
      end(1).statistics().drops_by_reason[static_cast<size_t>(events::DropReason::kBadVersion)],
      1u);
}

// Found by reading: the answer of a later version was dropped for its version, and the connect
// timed out.
TEST_F(HandshakeTest, TheAnswerOfALaterVersionIsUnderstood) {
  PairOptions options;
  options.tamper = [](int side, std::span<std::byte> frame) {
    frame[0] = std::byte{
        first_byte(side == 0 ? PacketType::kInit : PacketType::kVersion, kWireVersion + 1)};
  };
  EXPECT_EQ(error_of_connect(options).code, ErrorCode::kVersion);
}

TEST_F(HandshakeTest, PacketsOfAnotherVersionDoNotTouchAConnection) {
  bool later = false;
  PairOptions options;
  options.tamper = [&later](int, std::span<std::byte> frame) {
    if (later) frame[0] ^= std::byte{0x10};
  };
  start(options);
  later = true;
  receive(0, 1000, 1);
  send(0, 1000, 1);
  pair_->run_for(millis(100));
  EXPECT_TRUE(ended(1).empty());
  later = false;
  ASSERT_TRUE(run_until_completed(1, 1));
}

TEST_F(HandshakeTest, AnAnswerWithoutTheNonceIsNotBelieved) {
  PairOptions options;
  options.drop = [](int side, const TxBurst&, uint32_t) { return side == 1; };
  make(options);
  client_ = connect();
  pair_->run_for(millis(10));
  std::array<std::byte, kInitBytes> space{};
  const size_t refuse = write_refuse({client_, 12345, RefuseReason::kFull}, space);
  pair_->inject(0, pair_->address(1), std::span(space).first(refuse), 1,
                static_cast<uint32_t>(refuse));
  const size_t version = write_version({client_, 12345, 9, 9}, space);
  pair_->inject(0, pair_->address(1), std::span(space).first(version), 1,
                static_cast<uint32_t>(version));
  pair_->run_for(millis(10));
  EXPECT_EQ(seen(0), 0u);
}

TEST_F(HandshakeTest, ClosedBeforeItIsOpenItEnds) {
  for (const bool abort : {false, true}) {
    make();
    client_ = connect();
    send(0, 100, 1);
    if (abort) {
      end(0).post_abort(pair_->now(), client_);
    } else {
      end(0).post_close(pair_->now(), client_);
    }
    ASSERT_TRUE(run_until_closed(seconds(5))) << abort;
    ASSERT_EQ(ended(0).size(), 1u);
    EXPECT_FALSE(ended(0)[0].ok);
  }
}

TEST_F(HandshakeTest, GivenUpAfterItWasAcceptedItEndsOnTheOtherSideToo) {
  PairOptions options;
  options.drop = [](int, const TxBurst& burst, uint32_t) {
    return type_of_burst(burst) == PacketType::kAccept;
  };
  make(options);
  client_ = connect();
  ASSERT_TRUE(pair_->run_until([this] { return seen(1) == 1; }, seconds(1)));
  end(0).post_abort(pair_->now(), client_);
  ASSERT_TRUE(run_until_closed(seconds(30)));
  EXPECT_EQ(notice(1).kind, NoticeKind::kClosed);
  EXPECT_FALSE(notice(1).graceful);
}

// A repeated init used to make a second connection, which ended messages of the first.
TEST_F(HandshakeTest, AnInitRepeatedAfterItsConnectionEndedMakesNoSecondOne) {
  PairOptions options;
  options.drop = [](int from, const TxBurst& burst, uint32_t) {
    return from == 1 && type_of_burst(burst) != PacketType::kRetry &&
           type_of_burst(burst) != PacketType::kRefuse;
  };
  make(options);
  client_ = connect();
  ASSERT_TRUE(pair_->run_until([this] { return seen(1) == 1; }, seconds(1)));
  end(1).post_abort(pair_->now(), notice(1).connection);
  ASSERT_TRUE(pair_->run_until([this] { return seen(0) == 1; }, seconds(30)));
  EXPECT_EQ(notice(0).kind, NoticeKind::kClosed);
  EXPECT_EQ(notice(0).error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(notice(0).error.why, text_of(RefuseReason::kEnded));
  for (size_t i = 1; i < seen(1); ++i) {
    EXPECT_NE(pair_->notices[1][i].kind, NoticeKind::kAccepted) << i;
  }
}

TEST_F(HandshakeTest, StrangersMakeNoConnectionsAndGetLessThanTheySend) {
  make();
  const size_t held = end(1).bytes_held();
  InitPacket init;
  init.connection = 5;
  init.wire_id = 6;
  init.reply_port = 100;
  init.parameters.max_paths = init.parameters.max_channels = init.parameters.max_posted = 1;
  std::array<std::byte, kInitBytes> space;
  Address stranger;
  TxBatch batch;
  uint64_t answered = 0;
  for (uint32_t i = 0; i < 10'000; ++i) {
    stranger.host[14] = static_cast<uint8_t>(i >> 8);
    stranger.host[13] = static_cast<uint8_t>(i);
    init.nonce = i;
    init.has_cookie = i % 2 == 1;  // one that it made up
    write_init(init, space);
    pair_->inject(1, stranger, space, 1, kInitBytes);
    while (i % 3 == 0 && end(1).poll_transmit(pair_->now(), batch)) {
      for (const TxBurst& burst : batch.bursts()) answered += burst.header_bytes;
      batch.clear();
    }
  }
  EXPECT_EQ(end(1).connections(), 0u);
  EXPECT_GT(answered, 0u);
  EXPECT_LT(answered, 10'000u * kInitBytes / 8);
  EXPECT_LT(end(1).bytes_held(), held + 16'384);
}

TEST_F(HandshakeTest, AnswersThatWaitAreBounded) {
  make();
  InitPacket init;
  init.connection = 5;
  init.wire_id = 6;
  init.reply_port = 100;
  init.parameters.max_paths = init.parameters.max_channels = init.parameters.max_posted = 1;
  std::array<std::byte, kInitBytes> space;
  write_init(init, space);
  for (int i = 0; i < 1000; ++i) pair_->inject(1, pair_->address(0), space, 1, kInitBytes);
  TxBatch batch;
  size_t answers = 0;
  while (end(1).poll_transmit(pair_->now(), batch)) {
    answers += batch.bursts().size();
    batch.clear();
  }
  EXPECT_EQ(answers, 64u);
}

}  // namespace
}  // namespace heddle::transport
