// Behaviour of the placed-chunk shape: payload lands by remote writes, what is lost comes again as
// datagrams, and nothing changes a buffer after its receive has ended.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "transport/testing/pair_fixture.h"

namespace heddle::transport {
namespace {

using testing::PairOptions;

class PlacedTest : public testing::PairFixture {
 protected:
  static constexpr int64_t kMessage = 1 << 20;

  static PairOptions placed(bool reliable = false) {
    PairOptions options;
    options.endpoint.chunk_paths = 4;
    options.endpoint.chunk_bytes = 32 * 1024;
    options.endpoint.reliable_chunks = reliable;
    return options;
  }

  // Sends a message while the chunks of path 1 stay in the sender's NIC for `stall`, until the send
  // has ended; gives how long that took.
  Nanos send_over_stalled_path(PairOptions options, Nanos stall) {
    options.stall = [stall](int side, const TxBurst& burst) {
      const bool stalls = side == 0 && burst.path == 1 && burst.last_payload_bytes > 0;
      return stalls ? stall : Nanos{};
    };
    start(options);
    const Nanos begin = pair_->now();
    receive(0, kMessage, 1);
    send(0, kMessage, 1);
    EXPECT_TRUE(run_until_completed(1, 0));
    return pair_->now() - begin;
  }
  // Whether the receiver gets what was sent although the sender's program uses its buffer anew as
  // soon as its send has ended, shortly before the stall ends and the receiver fences the path.
  bool arrives_unspoiled(PairOptions options, bool recalls) {
    const Nanos span = send_over_stalled_path(options, seconds(10));
    options.ignores_recalls = !recalls;
    EXPECT_LT(send_over_stalled_path(options, span + micros(300)), span + micros(300));
    const std::vector<std::byte> sent = pair_->region(0, memory_[0]);
    std::fill_n(pair_->region(0, memory_[0]).begin(), kMessage, std::byte{0xEE});
    EXPECT_TRUE(run_until_completed(1, 1));
    EXPECT_TRUE(ended(0)[0].ok && ended(1)[0].ok);
    const std::vector<std::byte>& got = pair_->region(1, memory_[1]);
    return std::equal(got.begin(), got.begin() + kMessage, sent.begin());
  }
  // Every chunk stays in its NIC for a second. Gives how many left after the send had ended.
  uint64_t left_after(const std::function<void()>& end_the_send, bool recalls) {
    PairOptions options = placed();
    options.ignores_recalls = !recalls;
    options.stall = [](int, const TxBurst&) { return seconds(1); };
    start(options);
    receive(0, 1 << 20, 1);
    send(0, 1 << 20, 1);
    pair_->run_for(micros(200));
    end_the_send();
    EXPECT_TRUE(pair_->run_until([this] { return ended(0).size() == 1; }, millis(10)));
    const uint64_t before = pair_->writes_left[0];
    pair_->run_for(seconds(3));
    return pair_->writes_left[0] - before;
  }
};

TEST_F(PlacedTest, LargeMessagesAreWrittenIntoTheirBuffers) {
  PairOptions options = placed();
  uint64_t chunks = 0;
  options.drop = [&chunks](int side, const TxBurst& burst, uint32_t) {
    chunks += side == 0 && burst.write != nullptr && burst.last_payload_bytes > 0 ? 1 : 0;
    return false;
  };
  start(options);
  receive(0, 1 << 20, 1);
  send(0, 1 << 20, 1);
  ASSERT_TRUE(run_until_completed(1, 1));
  EXPECT_EQ(chunks, 16u) << "of two units each";
  EXPECT_TRUE(same(0, 1 << 20));
  EXPECT_EQ(ended(1)[0].bytes, uint64_t{1} << 20);
}

TEST_F(PlacedTest, SmallAndEmptyOnesTravelAsDatagrams) {
  start(placed());
  receive(0, 1000, 1);
  receive(2000, 1000, 2);
  send(0, 1000, 1);
  send(0, 0, 2);
  ASSERT_TRUE(run_until_completed(2, 2));
  EXPECT_TRUE(same(0, 1000));
  EXPECT_EQ(ended(1)[1].bytes, 0u);
}

TEST_F(PlacedTest, LostWritesComeAgainAndNothingIsWrittenTwice) {
  for (const bool reliable : {false, true}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      PairOptions options = placed(reliable);
      options.seed = seed;
      options.loss_per_million = 50'000;
      start(options);
      for (OperationId i = 0; i < 20; ++i) {
        receive(i * 200'000, 200'000, i);
        send(i * 200'000, 200'000, i);
      }
      ASSERT_TRUE(run_until_completed(20, 20)) << seed << reliable;
      EXPECT_TRUE(same(0, 20 * 200'000));
      for (const Completion& completion : ended(1)) EXPECT_TRUE(completion.ok);
    }
  }
}

TEST_F(PlacedTest, AWithdrawnReceiveEndsOnceNothingCanBeWrittenToItAnyMore) {
  PairOptions options = placed();
  options.delay = millis(1);
  start(options);
  receive(0, 4 << 20, 1);
  pair_->run_for(millis(5));
  send(0, 4 << 20, 1);
  pair_->run_for(micros(1100));
  ASSERT_TRUE(end(1).post_cancel(pair_->now(), server_, 0, Direction::kReceive, 1));
  ASSERT_TRUE(pair_->run_until([this] { return ended(1).size() == 1; }, seconds(1)));
  EXPECT_EQ(ended(1)[0].error, ErrorCode::kCancelled);
  const std::vector<std::byte> before = pair_->region(1, memory_[1]);
  ASSERT_TRUE(run_until_completed(1, 1));
  pair_->run_for(millis(20));
  EXPECT_EQ(pair_->region(1, memory_[1]), before);
  EXPECT_EQ(ended(0)[0].error, ErrorCode::kCancelled);
  receive(0, 1 << 20, 2);
  send(0, 1 << 20, 2);
  ASSERT_TRUE(run_until_completed(2, 2));
  EXPECT_TRUE(same(0, 1 << 20));
}

// VOPR, seed 217: a chunk that a reliable NIC reported as written counted as delivered, while the
// peer withdrew the receive before its NIC reported the last chunk.
TEST_F(PlacedTest, BothSidesAgreeWhetherAReceiveWasWithdrawnInTime) {
  bool both[2] = {false, false};
  for (int step = 0; step < 40; ++step) {
    PairOptions options = placed(true);
    start(options);
    receive(0, 100'000, 1);
    send(0, 100'000, 1);
    pair_->run_for(micros(5 * step));
    pair_->pause(1, true);  // chunks land meanwhile
    pair_->run_for(micros(30));
    if (ended(1).empty()) {
      ASSERT_TRUE(end(1).post_cancel(pair_->now(), server_, 0, Direction::kReceive, 1));
    }
    pair_->pause(1, false);
    ASSERT_TRUE(run_until_completed(1, 1, seconds(2))) << step;
    EXPECT_EQ(ended(0)[0].ok, ended(1)[0].ok) << step;
    both[ended(0)[0].ok ? 1 : 0] = true;
  }
  EXPECT_TRUE(both[0] && both[1]);
}

// VOPR, seed 2238: every chunk path of a connection led over a dead link, datagrams did not, and
// its messages waited for ever.
TEST_F(PlacedTest, WhereNoWritePassesPayloadTravelsAsDatagrams) {
  for (const bool reliable : {false, true}) {
    PairOptions options = placed(reliable);
    bool dead = false;
    options.drop = [&dead](int, const TxBurst& burst, uint32_t) {
      return dead && burst.write != nullptr;
    };
    start(options);
    receive(0, 4 << 20, 1);
    send(0, 4 << 20, 1);
    pair_->run_for(micros(500));
    dead = true;
    ASSERT_TRUE(run_until_completed(1, 1, seconds(20))) << reliable;
    EXPECT_TRUE(ended(0)[0].ok && ended(1)[0].ok);
    EXPECT_TRUE(same(0, 4 << 20));
    dead = false;
    pair_->run_for(seconds(1));
    receive(0, 1 << 20, 2);
    send(0, 1 << 20, 2);
    ASSERT_TRUE(run_until_completed(2, 2, seconds(5))) << reliable;
    EXPECT_TRUE(same(0, 1 << 20));
  }
}

// VOPR, seeds 380636 and 384119: a NIC passed empty writes and failed all with payload. Each probe
// returned its path, to which the payload then went again, for ever.
TEST_F(PlacedTest, WhereOnlyEmptyWritesPassPayloadTravelsAsDatagrams) {
  PairOptions options = placed(true);
  uint64_t payload_writes = 0;
  options.drop = [&payload_writes](int, const TxBurst& burst, uint32_t) {
    const bool drops = burst.write != nullptr && burst.last_payload_bytes > 0;
    payload_writes += drops ? 1 : 0;
    return drops;
  };
  start(options);
  receive(0, 4 << 20, 1);
  send(0, 4 << 20, 1);
  ASSERT_TRUE(run_until_completed(1, 1, seconds(2)));
  EXPECT_TRUE(ended(0)[0].ok && ended(1)[0].ok);
  EXPECT_TRUE(same(0, 4 << 20));
  EXPECT_GT(payload_writes, 4u);
}

// VOPR, seed 211593: the only datagram path of a connection led over a dead link, each
// side counted the other as alive for its writes, and their messages waited for ever.
TEST_F(PlacedTest, WhereNoDatagramPassesThePeerIsDeadHoweverManyWritesArrive) {
  for (const bool reliable : {false, true}) {
    PairOptions options = placed(reliable);
    bool dead = false;
    uint64_t writes[2] = {0, 0};
    options.drop = [&](int side, const TxBurst& burst, uint32_t) {
      writes[side] += dead && burst.write != nullptr ? 1 : 0;
      return dead && burst.write == nullptr;
    };
    start(options);
    receive(0, 4 << 20, 1);
    send(0, 4 << 20, 1);
    ASSERT_TRUE(end(0).post_receive(pair_->now(), {client_, 1}, {memory_[0], 8 << 20, 4 << 20}, 2));
    ASSERT_TRUE(end(1).post_send(pair_->now(), {server_, 1}, {memory_[1], 8 << 20, 4 << 20}, 2));
    pair_->run_for(micros(100));
    dead = true;
    ASSERT_TRUE(run_until_closed(seconds(20))) << reliable;
    EXPECT_GT(writes[0], 0u);
    EXPECT_GT(writes[1], 0u);
    for (const int side : {0, 1}) {
      ASSERT_EQ(ended(side).size(), 2u) << side;
      EXPECT_EQ(notice(side).error.code, ErrorCode::kPeerDead)
          << side << notice(side).error.message();
      for (const Completion& each : ended(side)) {
        EXPECT_FALSE(each.ok);
        EXPECT_EQ(each.error, ErrorCode::kPeerDead);
      }
    }
  }
}

TEST_F(PlacedTest, AnAbortEndsReceivesOnceNothingCanBeWrittenToThem) {
  PairOptions options = placed();
  options.delay = millis(1);
  start(options);
  receive(0, 4 << 20, 1);
  pair_->run_for(millis(5));
  send(0, 4 << 20, 1);
  pair_->run_for(micros(1100));
  end(1).post_abort(pair_->now(), server_);
  ASSERT_TRUE(run_until_closed(seconds(1)));
  ASSERT_EQ(ended(1).size(), 1u);
  const std::vector<std::byte> before = pair_->region(1, memory_[1]);
  pair_->run_for(millis(20));
  EXPECT_EQ(pair_->region(1, memory_[1]), before);
}

// A NIC that stalled read a buffer whose message had been acknowledged as datagrams, and its late
// write carried what the program had put there since.
TEST_F(PlacedTest, NoNicReadsABufferOnceItsSendHasEnded) {
  for (const bool reliable : {false, true}) {
    EXPECT_TRUE(arrives_unspoiled(placed(reliable), true)) << reliable;
    EXPECT_FALSE(arrives_unspoiled(placed(reliable), false)) << "the test shows nothing";
  }
}

TEST_F(PlacedTest, APeerThatWithdrawsItsReceiveGetsNoLaterBytes) {
  const auto withdraw = [this] {
    ASSERT_TRUE(end(1).post_cancel(pair_->now(), server_, 0, Direction::kReceive, 1));
  };
  EXPECT_EQ(left_after(withdraw, true), 0u);
  EXPECT_GT(left_after(withdraw, false), 0u);
}

TEST_F(PlacedTest, AnAbortedConnectionReadsNothingMore) {
  const auto abort = [this] { end(0).post_abort(pair_->now(), client_); };
  EXPECT_EQ(left_after(abort, true), 0u);
  EXPECT_GT(left_after(abort, false), 0u);
}

TEST_F(PlacedTest, AGapShowsThatTheNicIsDone) {
  PairOptions options = placed();
  int lost = 0;
  options.drop = [&lost](int side, const TxBurst& burst, uint32_t) {
    return side == 0 && burst.write != nullptr && burst.last_payload_bytes > 0 && lost++ == 0;
  };
  start(options);
  receive(0, 4 << 20, 1);
  send(0, 4 << 20, 1);
  ASSERT_TRUE(run_until_completed(1, 1));
  EXPECT_TRUE(same(0, 4 << 20));
  EXPECT_GT(lost, 1);
  EXPECT_EQ(pair_->recalls[0], 0u);
}

TEST_F(PlacedTest, ANicAdmitsThePeersOfOpenConnectionsOnly) {
  PairOptions options = placed();
  options.adjust = [](int side, EndpointOptions& endpoint) {
    if (side == 0) endpoint.chunk_paths = 3;
  };
  start(options);
  for (const int side : {0, 1}) {
    ASSERT_EQ(pair_->admissions[side].size(), 1u) << side;
    const WriterAdmission& peer = pair_->admissions[side][0];
    EXPECT_EQ(peer.connection, side == 0 ? client_ : server_);
    EXPECT_EQ(peer.paths, side == 0 ? 4 : 3) << "the peer's";
    EXPECT_EQ(peer.peer.host, pair_->address(1 - side).host);
  }
  options.adjust = [](int side, EndpointOptions& endpoint) {
    if (side == 0) endpoint.chunk_paths = 0;
  };
  start(options);
  EXPECT_TRUE(pair_->admissions[0].empty() && pair_->admissions[1].empty());
}

TEST_F(PlacedTest, AMessageTooLongForItsReceiveIsNotWritten) {
  start(placed());
  receive(0, 100'000, 1);
  send(0, 200'000, 1);
  ASSERT_TRUE(run_until_completed(1, 1));
  EXPECT_EQ(ended(0)[0].error, ErrorCode::kTruncated);
  EXPECT_EQ(ended(1)[0].error, ErrorCode::kTruncated);
  EXPECT_FALSE(same(0, 1000));
}

// VOPR, seeds 131646 and 135399: a NIC that made its queue pair anew reported the probe of the old
// one as failed, the new one was fenced for that, and so on in every round trip.
TEST_F(PlacedTest, AFailedWriteOfAnEarlierEpochBreaksNothing) {
  start(placed(true));
  receive(0, 1 << 20, 1);
  send(0, 1 << 20, 1);
  ASSERT_TRUE(run_until_completed(1, 1));
  pair_->run_for(millis(50));
  NicEvent failed;
  failed.kind = NicEventKind::kSent;
  failed.connection = client_;
  failed.path = 0;
  failed.ok = false;
  failed.number = 1;
  const auto packets_after = [&] {
    const uint64_t before = pair_->datagrams;
    end(0).handle_nic_event(pair_->now(), failed);
    pair_->run_for(millis(1));
    return pair_->datagrams - before;
  };
  EXPECT_GT(packets_after(), 0u);  // the peer makes its side of the path anew
  pair_->run_for(millis(50));
  EXPECT_EQ(packets_after(), 0u);
  failed.epoch = 1;
  EXPECT_GT(packets_after(), 0u);
}

TEST_F(PlacedTest, MalformedNicEventsAreDropped) {
  start(placed());
  receive(0, 100'000, 1);
  Random random(4);
  for (int i = 0; i < 20'000; ++i) {
    NicEvent event;
    event.kind = static_cast<NicEventKind>(random.below(3));
    event.connection = random.below(4) == 0 ? static_cast<uint32_t>(random.next()) : server_;
    event.path = static_cast<uint16_t>(random.below(6));
    event.ok = random.below(2) == 0;
    event.immediate = static_cast<uint32_t>(random.next()) & 0x0001'ffff;
    event.bytes = static_cast<uint32_t>(random.below(70'000));
    event.epoch = static_cast<uint32_t>(random.below(5));
    event.number = random.next();
    event.from = pair_->address(0);
    end(1).handle_nic_event(pair_->now(), event);
  }
  pair_->run_for(millis(100));
  end(1).post_abort(pair_->now(), server_);
  ASSERT_TRUE(run_until_closed(seconds(10)));
  EXPECT_EQ(ended(1).size(), 1u);
}

}  // namespace
}  // namespace heddle::transport
