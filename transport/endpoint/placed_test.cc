// Behaviour of the placed-chunk shape: payload lands by remote writes, what is lost comes again as
// datagrams, and nothing changes a buffer after its receive has ended.
#include <gtest/gtest.h>

#include "transport/testing/pair_fixture.h"

namespace heddle::transport {
namespace {

using testing::PairOptions;

class PlacedTest : public testing::PairFixture {
 protected:
  static PairOptions placed(bool reliable = false) {
    PairOptions options;
    options.endpoint.chunk_paths = 4;
    options.endpoint.chunk_bytes = 32 * 1024;
    options.endpoint.reliable_chunks = reliable;
    return options;
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
  EXPECT_EQ(chunks, 32u);
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
  PlacedEvent failed;
  failed.kind = PlacedEventKind::kSent;
  failed.connection = client_;
  failed.path = 0;
  failed.ok = false;
  failed.number = 1;
  const auto packets_after = [&] {
    const uint64_t before = pair_->datagrams;
    end(0).handle_placed(pair_->now(), failed);
    pair_->run_for(millis(1));
    return pair_->datagrams - before;
  };
  EXPECT_GT(packets_after(), 0u);  // the peer makes its side of the path anew
  pair_->run_for(millis(50));
  EXPECT_EQ(packets_after(), 0u);
  failed.epoch = 1;
  EXPECT_GT(packets_after(), 0u);
}

TEST_F(PlacedTest, WhatANicTellsOfNobodyIsDropped) {
  start(placed());
  receive(0, 100'000, 1);
  Random random(4);
  for (int i = 0; i < 20'000; ++i) {
    PlacedEvent event;
    event.kind = static_cast<PlacedEventKind>(random.below(3));
    event.connection = random.below(4) == 0 ? static_cast<uint32_t>(random.next()) : server_;
    event.path = static_cast<uint16_t>(random.below(6));
    event.ok = random.below(2) == 0;
    event.immediate = static_cast<uint32_t>(random.next()) & 0x0001'ffff;
    event.bytes = static_cast<uint32_t>(random.below(70'000));
    event.epoch = static_cast<uint32_t>(random.below(5));
    event.number = random.next();
    event.from = pair_->address(0);
    end(1).handle_placed(pair_->now(), event);
  }
  pair_->run_for(millis(100));
  end(1).post_abort(pair_->now(), server_);
  ASSERT_TRUE(run_until_closed(seconds(10)));
  EXPECT_EQ(ended(1).size(), 1u);
}

}  // namespace
}  // namespace heddle::transport
