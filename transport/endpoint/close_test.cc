// Behaviour at the end of a connection: graceful closes, aborts, restarts, death; every operation
// ends, once, and both sides forget.
#include <gtest/gtest.h>

#include <array>

#include "transport/testing/pair_fixture.h"
#include "transport/wire/handshake.h"

namespace heddle::transport {
namespace {

using testing::PairOptions;

class CloseTest : public testing::PairFixture {
 protected:
  void close(int side) { end(side).post_close(pair_->now(), side == 0 ? client_ : server_); }
  // Connected, and from then on three of ten datagrams are lost.
  void start_lossy(uint64_t seed) {
    PairOptions options;
    lossy_ = false;
    options.seed = seed;
    options.drop = [this, random = Random(seed)](int, const TxBurst&, uint32_t) mutable {
      return lossy_ && random.below(10) < 3;
    };
    start(std::move(options));
    lossy_ = true;
  }
  void expect_forgotten() {
    EXPECT_EQ(end(0).connections(), 0u);
    EXPECT_EQ(end(1).connections(), 0u);
    EXPECT_EQ(end(0).statistics(client_), nullptr);
    EXPECT_EQ(end(1).statistics(server_), nullptr);
    pair_->run_for(seconds(1));
    EXPECT_EQ(seen(0), 2u);  // one notice of the end a side, and no more
    EXPECT_EQ(seen(1), 2u);
  }

  bool lossy_ = false;
};

TEST_F(CloseTest, EitherSideMayCloseAndBothAreToldSo) {
  for (int side = 0; side < 2; ++side) {
    start();
    ASSERT_TRUE(exchange(1));
    close(side);
    ASSERT_TRUE(run_until_closed(millis(100)));
    EXPECT_TRUE(notice(0).graceful);
    EXPECT_TRUE(notice(1).graceful);
    EXPECT_EQ(notice(0).error.code, ErrorCode::kClosed);
    expect_forgotten();
  }
}

TEST_F(CloseTest, BothMayCloseAtOnce) {
  start();
  ASSERT_TRUE(exchange(1));
  close(0);
  close(1);
  ASSERT_TRUE(run_until_closed(millis(100)));
  EXPECT_TRUE(notice(0).graceful);
  EXPECT_TRUE(notice(1).graceful);
  expect_forgotten();
}

TEST_F(CloseTest, UnderHeavyLossItIsGracefulAllTheSame) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    start_lossy(seed);
    receive(0, 50'000, 1);
    send(0, 50'000, 1);
    close(0);
    ASSERT_TRUE(run_until_closed(seconds(20))) << seed;
    EXPECT_TRUE(notice(0).graceful) << seed;
    ASSERT_EQ(ended(1).size(), 1u) << seed;
    EXPECT_TRUE(ended(1)[0].ok) << seed;
    EXPECT_TRUE(ended(0)[0].ok) << seed;
  }
}

TEST_F(CloseTest, BothAtOnceUnderHeavyLossEndAsWell) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    start_lossy(seed);
    close(0);
    close(1);
    ASSERT_TRUE(run_until_closed(seconds(20))) << seed;
    EXPECT_TRUE(notice(0).graceful && notice(1).graceful) << seed;
  }
}

TEST_F(CloseTest, ReceivesThatArePostedEndClosed) {
  start();
  receive(0, 100, 1);
  receive(0, 100, 2);
  close(0);
  ASSERT_TRUE(run_until_closed(millis(100)));
  ASSERT_EQ(ended(1).size(), 2u);
  for (const Completion& completion : ended(1)) {
    EXPECT_FALSE(completion.ok);
    EXPECT_EQ(completion.error, ErrorCode::kClosed);
  }
}

TEST_F(CloseTest, WithoutTheReceiveOfASendItEndsInTime) {
  PairOptions options;
  start(options);
  send(0, 1 << 20, 1);
  const Nanos began = pair_->now();
  close(0);
  ASSERT_TRUE(run_until_closed(seconds(10)));
  EXPECT_GE(pair_->now() - began, options.endpoint.close_timeout);
  EXPECT_LE(pair_->now() - began, options.endpoint.close_timeout + millis(100));
  ASSERT_EQ(ended(0).size(), 1u);
  EXPECT_FALSE(ended(0)[0].ok);
  EXPECT_FALSE(notice(0).graceful);
  EXPECT_EQ(notice(0).error.code, ErrorCode::kTimeout);
  EXPECT_FALSE(notice(1).graceful);
  expect_forgotten();
}

TEST_F(CloseTest, WhileItWaitsItsReceiveMayStillCome) {
  start();
  send(0, 1 << 20, 1);
  close(0);
  pair_->run_for(seconds(1));
  receive(0, 1 << 20, 1);
  ASSERT_TRUE(run_until_closed(seconds(1)));
  EXPECT_TRUE(ended(0)[0].ok);
  EXPECT_TRUE(ended(1)[0].ok);
  EXPECT_TRUE(notice(0).graceful);
}

TEST_F(CloseTest, AfterItNothingMoreIsTaken) {
  start();
  send(0, 1 << 20, 1);
  close(0);
  const auto refused = end(0).post_send(pair_->now(), {client_, 0}, {memory_[0], 0, 10}, 9);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kClosed);
  end(0).post_abort(pair_->now(), client_);
  ASSERT_TRUE(run_until_closed(seconds(1)));
  EXPECT_EQ(end(0).post_receive(pair_->now(), {client_, 0}, {memory_[0], 0, 10}, 9).error().code,
            ErrorCode::kClosed);
  EXPECT_FALSE(end(0).post_cancel(pair_->now(), client_, 0, Direction::kSend, 1));
  end(0).post_close(pair_->now(), client_);
  end(0).post_abort(pair_->now(), client_);
  expect_forgotten();
}

TEST_F(CloseTest, AnAbortEndsEverythingOnBothSides) {
  start();
  receive(0, 8 << 20, 1);
  receive(0, 100, 2, 3);
  send(0, 8 << 20, 1);
  send(0, 1 << 20, 2, 5);
  pair_->run_for(micros(300));
  end(0).post_abort(pair_->now(), client_);
  ASSERT_TRUE(run_until_closed(millis(100)));
  ASSERT_EQ(ended(0).size(), 2u);
  ASSERT_EQ(ended(1).size(), 2u);
  for (int side = 0; side < 2; ++side) {
    for (const Completion& completion : ended(side)) {
      EXPECT_FALSE(completion.ok);
      EXPECT_EQ(completion.error, ErrorCode::kClosed);
    }
    EXPECT_FALSE(notice(side).graceful);
  }
  expect_forgotten();
}

TEST_F(CloseTest, WhenTheAbortIsLostTheOtherSideLearnsItFromAReset) {
  PairOptions options;
  bool cut = false;
  options.drop = [&cut](int side, const TxBurst&, uint32_t) { return cut && side == 0; };
  start(options);
  cut = true;
  end(0).post_abort(pair_->now(), client_);
  pair_->run_for(millis(1));
  cut = false;
  EXPECT_EQ(end(1).connections(), 1u);
  receive(0, 100, 1);  // makes it speak
  ASSERT_TRUE(run_until_closed(seconds(2)));
  EXPECT_EQ(ended(1)[0].error, ErrorCode::kPeerDead);
  EXPECT_EQ(notice(1).error.code, ErrorCode::kPeerDead);
}

TEST_F(CloseTest, APeerThatWasRestartedIsFoundAtOnce) {
  start();
  receive(0, 4 << 20, 1);
  send(0, 4 << 20, 1);
  pair_->run_for(micros(200));
  pair_->restart(1);
  const Nanos began = pair_->now();
  ASSERT_TRUE(pair_->run_until([this] { return seen(0) == 2; }, seconds(10)));
  EXPECT_LT(pair_->now() - began, millis(500));
  EXPECT_EQ(notice(0).error.code, ErrorCode::kPeerDead);
  EXPECT_EQ(ended(0)[0].error, ErrorCode::kPeerDead);
  EXPECT_EQ(end(0).connections(), 0u);
  // And it can be connected to again.
  client_ = connect();
  ASSERT_TRUE(pair_->run_until([this] { return seen(0) == 3 && seen(1) == 2; }, seconds(1)));
  server_ = notice(1).connection;
  EXPECT_TRUE(exchange(9));
}

TEST_F(CloseTest, ResetsAreFewHoweverMuchStrangersSend) {
  start();
  pair_->restart(1);
  uint64_t resets = 0;
  TxBatch batch;
  std::array<std::byte, kDataHeaderBytes> packet;
  DataHeader header;
  header.base.type = PacketType::kData;
  header.base.connection = 77;
  header.base.number = 1;
  header.base.reply_port = 100;
  write_data_header(header, packet.data());
  for (int i = 0; i < 10'000; ++i) {
    pair_->inject(1, pair_->address(0), packet, 1, packet.size());
    while (end(1).poll_transmit(pair_->now(), batch)) {
      resets += batch.bursts().size();
      batch.clear();
    }
  }
  EXPECT_GE(resets, 1u);
  EXPECT_LE(resets, 8u);  // all came in one millisecond
}

TEST_F(CloseTest, AResetFromAnotherHostIsNotBelieved) {
  start();
  receive(0, 4 << 20, 1);
  send(0, 4 << 20, 1);
  pair_->run_for(micros(200));
  const WireId server = end(1).wire_id(server_);
  const auto reset_from = [this](const Address& from, WireId names) {
    std::array<std::byte, 20> packet{};
    for (uint16_t path = 0; path < 16; ++path) {
      for (uint64_t number = 1; number < 400; ++number) {
        write_reset({names, path, number}, packet);
        pair_->inject(0, from, packet, 1, packet.size());
      }
    }
    pair_->run_for(micros(1));
  };
  Address stranger = pair_->address(1);
  stranger.host[15] = 77;
  reset_from(stranger, server);
  EXPECT_EQ(end(0).connections(), 1u);
  // A process on the peer's host that has not seen a packet: near in number is not enough.
  for (const WireId wrong :
       {server + 1, server ^ (uint64_t{1} << 63), WireId{server_}, WireId{0}}) {
    reset_from(pair_->address(1), wrong);
    EXPECT_EQ(end(0).connections(), 1u) << wrong;
  }
  reset_from(pair_->address(1), server);
  EXPECT_EQ(end(0).connections(), 0u) << "what it names is under way";
}

TEST_F(CloseTest, ASuspendedPeerThatComesBackInTimeLives) {
  start();
  receive(0, 4 << 20, 1);
  send(0, 4 << 20, 1);
  pair_->run_for(micros(200));
  pair_->pause(1, true);
  pair_->run_for(seconds(4));
  pair_->pause(1, false);
  ASSERT_TRUE(run_until_completed(1, 1, seconds(2)));
  EXPECT_TRUE(ended(0)[0].ok);
  EXPECT_TRUE(same(0, 4 << 20));
}

TEST_F(CloseTest, ADeadPeerIsFoundByWhoOnlyWaits) {
  start();
  receive(0, 1000, 1);
  pair_->run_for(millis(10));
  pair_->pause(0, true);
  const Nanos began = pair_->now();
  ASSERT_TRUE(pair_->run_until([this] { return seen(1) == 2; }, seconds(30)));
  EXPECT_LE(pair_->now() - began, seconds(8));
  EXPECT_EQ(ended(1)[0].error, ErrorCode::kPeerDead);
}

// The network fails in one direction only. The side that receives nothing declares its peer dead
// and sends it a close; without that the other side would continue for another timeout.
TEST_F(CloseTest, WhereTheNetworkFailsOneWayBothSidesAreToldWithinTenSeconds) {
  for (const bool lossy : {false, true}) {  // what still passes: all, or six of ten datagrams
    for (const uint16_t paths : {uint16_t{1}, uint16_t{8}}) {
      for (const int silent : {0, 1}) {  // the sender or the receiver is not heard any more
        PairOptions options;
        bool out = false;
        options.drop = [&, random = Random(5)](int side, const TxBurst&, uint32_t) mutable {
          return out && (side == silent || (lossy && random.below(10) < 4));
        };
        ConnectionOptions some;
        some.paths = paths;
        options.endpoint.default_paths = paths;
        start(options, some);
        receive(0, 8 << 20, 1);
        send(0, 8 << 20, 1);
        pair_->run_for(micros(300));
        out = true;
        const Nanos began = pair_->now();
        ASSERT_TRUE(pair_->run_until([&] { return seen(1 - silent) == 2; }, seconds(10)));
        EXPECT_GE(pair_->now() - began, seconds(5));
        EXPECT_EQ(notice(1 - silent).error.code, ErrorCode::kPeerDead);
        ASSERT_TRUE(pair_->run_until([&] { return seen(silent) == 2; }, millis(1)))
            << silent << " goes on, over " << paths << " paths";
        EXPECT_LE(pair_->now() - began, seconds(10));
        EXPECT_EQ(notice(silent).error.code, ErrorCode::kPeerDead);
        EXPECT_EQ(ended(0)[0].error, ErrorCode::kPeerDead);
        EXPECT_EQ(ended(1)[0].error, ErrorCode::kPeerDead);
        expect_forgotten();
      }
    }
  }
}

TEST_F(CloseTest, AnIcmpPortUnreachableEndsOnlyAConnectionOfASilentPeer) {
  start();
  NetworkError refused{NetworkErrorKind::kRefused, pair_->address(1), 0, 0};
  ConnectionHeader sent;
  sent.connection = end(1).wire_id(server_);
  std::array<std::byte, kConnectionHeaderBytes> header{};
  write_connection_header(sent, header.data());
  refused.quoted_bytes = NetworkError::kMostQuoted;
  std::copy_n(header.begin(), refused.quoted.size(), refused.quoted.begin());
  for (int i = 0; i < 50; ++i) {  // forged: the peer goes on answering
    end(0).handle_network_error(pair_->now(), refused);
    pair_->run_for(millis(20));
  }
  EXPECT_TRUE(exchange(1));
  pair_->pause(1, true);
  end(0).handle_network_error(pair_->now(), refused);
  const Nanos began = pair_->now();
  ASSERT_TRUE(pair_->run_until([this] { return seen(0) == 2; }, seconds(2)));
  EXPECT_LE(pair_->now() - began, millis(500));
  EXPECT_EQ(notice(0).error.code, ErrorCode::kPeerDead);
}

}  // namespace
}  // namespace heddle::transport
