// Behaviour of what is in flight on a path: what acknowledgements settle, what counts as lost and
// when, and that nothing is reported twice; by example and against a naive model.
#include "transport/recovery/sent_bursts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/random.h"

namespace heddle::transport {
namespace {

constexpr Nanos kStart = seconds(1);
constexpr Nanos kNotStale = seconds(1000);
constexpr uint32_t kStep = 1000;
constexpr uint32_t kHeader = 40;

// Records what it hears, number by number.
class Keeper : public SentBurstListener {
 public:
  void on_acked(const SentBurst& run, uint32_t first, uint32_t count, bool was_lost) override {
    for (uint32_t i = first; i < first + count; ++i) {
      EXPECT_EQ(lost.count(run.first_number + i) != 0, was_lost);
      EXPECT_TRUE(acked.emplace(run.first_number + i, was_lost).second) << "acknowledged twice";
    }
  }
  void on_lost(const SentBurst& run, uint32_t first, uint32_t count,
               events::LossCause cause) override {
    for (uint32_t i = first; i < first + count; ++i) {
      EXPECT_EQ(acked.count(run.first_number + i), 0u);
      EXPECT_TRUE(lost.emplace(run.first_number + i, cause).second) << "lost twice";
    }
  }

  std::map<uint64_t, bool> acked;
  std::map<uint64_t, events::LossCause> lost;
};

class SentBurstsTest : public ::testing::Test {
 protected:
  void TearDown() override { list_.clear(pool_); }
  // A row of `count` data segments, the last of `last` bytes.
  void send(Nanos now, uint8_t count, uint32_t last = kStep) {
    const uint32_t index = pool_.lend();
    SentBurst& run = pool_[index];
    run = SentBurst{};
    run.first_number = next_;
    run.count = count;
    run.sent_at = now;
    run.data = true;
    run.header_bytes = kHeader;
    run.record.step = kStep;
    run.record.last = last;
    next_ += count;
    list_.append(pool_, index);
  }
  void send_control(Nanos now) {
    const uint32_t index = pool_.lend();
    pool_[index] = SentBurst{};
    pool_[index].first_number = next_++;
    pool_[index].sent_at = now;
    list_.append(pool_, index);
  }
  // Ranges newest first.
  AckOutcome ack(Nanos now, std::initializer_list<NumberRange> ranges) {
    AckFrame frame;
    for (const NumberRange& range : ranges) frame.ranges[frame.range_count++] = range;
    const AckOutcome outcome = list_.acknowledge(pool_, now, frame, keeper_);
    acked_sent_at_ = std::max(acked_sent_at_, outcome.newest_sent_at);
    return outcome;
  }
  Nanos detect(Nanos now, Nanos stale = kNotStale) {
    return list_.detect(pool_, now, {window_, stale, acked_sent_at_}, keeper_);
  }

  SentBurstPool all_{1024};
  SentPool pool_{all_};
  SentList list_;
  Keeper keeper_;
  ReorderWindow window_;
  Nanos acked_sent_at_;
  uint64_t next_ = 1;
};

TEST_F(SentBurstsTest, BytesInFlightIncludeHeadersOfData) {
  send(kStart, 3, 500);
  EXPECT_EQ(list_.in_flight_bytes(), 2 * kStep + 500 + 3 * kHeader);
  EXPECT_EQ(list_.in_flight_segments(), 3u);
  send_control(kStart);
  EXPECT_EQ(list_.in_flight_bytes(),
            2 * kStep + 500 + 3 * kHeader);  // control packets weigh nothing
  EXPECT_EQ(list_.in_flight_segments(), 4u);
}

TEST_F(SentBurstsTest, AWholeAcknowledgementSettlesEverything) {
  send(kStart, 64, 10);
  send(kStart, 1, 1);
  const AckOutcome outcome = ack(kStart + micros(50), {{1, 65}});
  EXPECT_TRUE(outcome.any);
  EXPECT_EQ(outcome.acked_bytes, 63 * kStep + 10 + 1 + 65 * kHeader);
  EXPECT_EQ(outcome.newest_number, 65u);
  EXPECT_EQ(outcome.newest_sent_at, kStart);
  EXPECT_EQ(keeper_.acked.size(), 65u);
  EXPECT_EQ(list_.in_flight_bytes(), 0u);
  EXPECT_EQ(list_.in_flight_segments(), 0u);
  EXPECT_EQ(pool_.lent(), 0u);
  EXPECT_EQ(list_.oldest(pool_), nullptr);
}

TEST_F(SentBurstsTest, ARepeatedAcknowledgementReportsNothing) {
  send(kStart, 4);
  ack(kStart, {{1, 2}});
  EXPECT_FALSE(ack(kStart, {{1, 2}}).any);
  EXPECT_EQ(list_.in_flight_segments(), 2u);
}

TEST_F(SentBurstsTest, PartsOfARunAreSettledApart) {
  send(kStart, 8, 100);
  const AckOutcome outcome = ack(kStart, {{8, 8}, {4, 5}, {1, 1}});
  EXPECT_EQ(outcome.acked_bytes, 3 * kStep + 100 + 4 * kHeader);
  EXPECT_EQ(list_.in_flight_bytes(), 4 * (kStep + kHeader));
  EXPECT_EQ(keeper_.acked.size(), 4u);
}

TEST_F(SentBurstsTest, AGapWithinTheWindowIsNotLossYet) {
  send(kStart, 1);
  send(kStart, 2);
  ack(kStart, {{2, 3}});  // number 1 is overtaken by two
  EXPECT_EQ(detect(kStart), Nanos::never());
  EXPECT_TRUE(keeper_.lost.empty());
}

TEST_F(SentBurstsTest, AGapBeyondTheWindowIsLossAtOnce) {
  send(kStart, 1);
  send(kStart, 3);
  ack(kStart, {{2, 4}});
  detect(kStart);
  ASSERT_EQ(keeper_.lost.size(), 1u);
  EXPECT_EQ(keeper_.lost.at(1), events::LossCause::kGap);
  EXPECT_EQ(list_.in_flight_bytes(), 0u);
}

TEST_F(SentBurstsTest, AGapWithinARunIsFound) {
  send(kStart, 16);
  ack(kStart, {{8, 16}, {1, 4}});
  detect(kStart);
  EXPECT_EQ(keeper_.lost.size(), 3u);
  EXPECT_EQ(keeper_.lost.begin()->first, 5u);
  // Its neighbours above are within the window of the newest.
  EXPECT_EQ(list_.in_flight_segments(), 0u);
}

TEST_F(SentBurstsTest, AWiderWindowWaitsItsTime) {
  window_.widen(kStart, 5, micros(100), millis(1));
  send(kStart, 1);
  send(kStart, 9);
  ack(kStart + micros(10), {{2, 10}});
  const Nanos again = detect(kStart + micros(10));
  EXPECT_EQ(again, kStart + micros(10) + window_.time());
  EXPECT_TRUE(keeper_.lost.empty());
  EXPECT_EQ(detect(again), Nanos::never());
  EXPECT_EQ(keeper_.lost.size(), 1u);
}

TEST_F(SentBurstsTest, APacketSentLongBeforeAnAcknowledgedOneIsLost) {
  send(kStart, 1);
  send(kStart + millis(5), 1);  // a tail probe
  ack(kStart + millis(6), {{2, 2}});
  detect(kStart + millis(6), millis(10));
  EXPECT_TRUE(keeper_.lost.empty());
  detect(kStart + millis(6), millis(4));
  EXPECT_EQ(keeper_.lost.size(), 1u);
}

TEST_F(SentBurstsTest, AnAcknowledgementAfterALossMakesTheLossSpurious) {
  send(kStart, 2);
  send(kStart + micros(3), 10);
  ack(kStart, {{3, 12}});
  detect(kStart);
  ASSERT_EQ(keeper_.lost.size(), 2u);
  const AckOutcome outcome = ack(kStart + micros(90), {{2, 12}});
  EXPECT_TRUE(outcome.any);
  EXPECT_EQ(outcome.acked_bytes, 0u);  // it was not in flight any more
  EXPECT_EQ(outcome.spurious_segments, 1u);
  EXPECT_EQ(outcome.spurious_behind, 10u);
  EXPECT_EQ(outcome.spurious_sent_at, kStart);
  EXPECT_TRUE(keeper_.acked.at(2));
  EXPECT_EQ(list_.in_flight_bytes(), 0u);
}

TEST_F(SentBurstsTest, GivingUpLosesAllThatIsNotAcknowledged) {
  send(kStart, 4);
  send_control(kStart);
  send(kStart, 4);
  ack(kStart, {{2, 3}});
  list_.declare_lost(pool_, events::LossCause::kTimeout, keeper_);
  EXPECT_EQ(keeper_.lost.size(), 7u);
  EXPECT_EQ(keeper_.lost.at(5), events::LossCause::kTimeout);
  EXPECT_EQ(list_.in_flight_bytes(), 0u);
  EXPECT_EQ(list_.in_flight_segments(), 0u);
  list_.declare_lost(pool_, events::LossCause::kTimeout,
                     keeper_);  // Keeper objects to a second time
  EXPECT_EQ(list_.oldest(pool_), nullptr);
}

TEST_F(SentBurstsTest, GivingUpOneLosesThatSegmentOnce) {
  send(kStart, 4);
  send(kStart, 4);
  ack(kStart, {{2, 2}});
  for (const uint64_t number : {2u, 3u, 6u, 9u}) {
    list_.declare_one_lost(pool_, number, events::LossCause::kTrimmed, keeper_);
  }
  EXPECT_EQ(keeper_.lost.size(), 2u) << "one had arrived, and one was never sent";
  EXPECT_EQ(keeper_.lost.at(3), events::LossCause::kTrimmed);
  EXPECT_EQ(keeper_.lost.at(6), events::LossCause::kTrimmed);
  EXPECT_EQ(list_.in_flight_segments(), 5u);
  list_.declare_one_lost(pool_, 3, events::LossCause::kTrimmed, keeper_);  // Keeper would object
  list_.declare_lost(pool_, events::LossCause::kTimeout, keeper_);
  EXPECT_EQ(list_.in_flight_bytes(), 0u);
}

TEST_F(SentBurstsTest, TheOldestIsTheOldestThatIsOpen) {
  send(kStart, 1);
  send(kStart + micros(1), 1);
  EXPECT_EQ(list_.oldest(pool_)->sent_at, kStart);
  ack(kStart, {{1, 1}});
  EXPECT_EQ(list_.oldest(pool_)->sent_at, kStart + micros(1));
}

TEST_F(SentBurstsTest, LostRunsAreForgottenInTime) {
  send(kStart, 1);
  send(kStart + millis(10), 9);
  ack(kStart + millis(11), {{2, 10}});
  detect(kStart + millis(11));
  EXPECT_EQ(pool_.lent(), 1u);
  list_.forget_lost(pool_, kStart);
  EXPECT_EQ(pool_.lent(), 1u);
  list_.forget_lost(pool_, kStart + nanos(1));
  EXPECT_EQ(pool_.lent(), 0u);
}

TEST_F(SentBurstsTest, OfVeryManyLostRunsTheOldestAreForgotten) {
  for (int i = 0; i < 600; ++i) send(kStart, 1);
  list_.declare_lost(pool_, events::LossCause::kTimeout, keeper_);
  EXPECT_EQ(pool_.lent(), 600u);
  list_.forget_lost(pool_, Nanos{});
  EXPECT_EQ(pool_.lent(), 256u);
  EXPECT_EQ(ack(kStart, {{1, 600}}).spurious_segments, 256u);
}

TEST_F(SentBurstsTest, OpenRunsAreNotForgotten) {
  send(kStart, 1);
  send(kStart, 4);
  ack(kStart, {{2, 5}});
  detect(kStart);
  send(kStart, 1);
  list_.forget_lost(pool_, kStart + seconds(9));
  EXPECT_EQ(list_.in_flight_segments(), 1u);
  EXPECT_EQ(pool_.lent(), 1u);
}

TEST_F(SentBurstsTest, ClearingCallsNoListener) {
  send(kStart, 5);
  send_control(kStart);
  list_.clear(pool_);
  EXPECT_EQ(pool_.lent(), 0u);
  EXPECT_EQ(list_.in_flight_bytes(), 0u);
  EXPECT_TRUE(keeper_.acked.empty());
  EXPECT_TRUE(keeper_.lost.empty());
}

TEST_F(SentBurstsTest, OffsetsInTheMessageFollowFromTheRecord) {
  SentBurst run;
  run.count = 4;
  run.record.offset = 5000;
  run.record.step = 1000;
  run.record.last = 300;
  EXPECT_EQ(run.start_of(0), 5000u);
  EXPECT_EQ(run.end_of(0, 2), 7000u);
  EXPECT_EQ(run.start_of(3), 8000u);
  EXPECT_EQ(run.end_of(3, 1), 8300u);
}

// A network that loses and reorders: the model keeps every number's fate, the list must agree.
class RandomTest : public SentBurstsTest {
 protected:
  void run(uint64_t seed) {
    Random random(seed);
    Nanos now = kStart;
    for (int step = 0; step < 400; ++step) {
      now += micros(static_cast<int64_t>(random.below(40)));
      switch (random.below(4)) {
        case 0:
        case 1: {
          const auto count = static_cast<uint8_t>(random.between(1, 64));
          send(now, count, static_cast<uint32_t>(random.between(1, kStep)));
          break;
        }
        case 2:
          deliver(random);
          break;
        default:
          acknowledge(now, random);
          break;
      }
      if (random.below(8) == 0) detect(now, micros(200));
      if (random.below(50) == 0) list_.declare_lost(pool_, events::LossCause::kTimeout, keeper_);
      check();
    }
    list_.clear(pool_);
    EXPECT_EQ(pool_.lent(), 0u);
  }

 private:
  void deliver(Random& random) {
    const uint64_t low = random.between(delivered_.empty() ? 1 : 1 + next_ / 2, next_);
    for (uint64_t i = low; i < std::min(next_, low + random.below(40)); ++i) {
      if (random.below(10) != 0) delivered_[i] = true;
    }
  }
  void acknowledge(Nanos now, Random& random) {
    AckFrame frame;
    for (auto at = delivered_.rbegin(); at != delivered_.rend(); ++at) {
      const uint64_t number = at->first;
      if (frame.range_count > 0 && frame.ranges[frame.range_count - 1u].low == number + 1) {
        frame.ranges[frame.range_count - 1u].low = number;
      } else if (frame.range_count < random.between(1, kMaxAckRanges)) {
        frame.ranges[frame.range_count++] = {number, number};
      } else {
        break;
      }
    }
    if (frame.range_count == 0) return;
    const size_t before = keeper_.acked.size();
    const AckOutcome outcome = list_.acknowledge(pool_, now, frame, keeper_);
    acked_sent_at_ = std::max(acked_sent_at_, outcome.newest_sent_at);
    EXPECT_EQ(outcome.any, keeper_.acked.size() > before);
    for (size_t i = 0; i < frame.range_count; ++i) {
      for (uint64_t n = frame.ranges[i].low; n <= frame.ranges[i].high; ++n) {
        EXPECT_TRUE(keeper_.acked.count(n) == 1) << n;
      }
    }
    for (const auto& [number, was_lost] : keeper_.acked)
      EXPECT_TRUE(delivered_.count(number)) << number;
  }
  void check() const {
    uint32_t open = 0;
    for (uint64_t n = 1; n < next_; ++n) {
      open += keeper_.acked.count(n) == 0 && keeper_.lost.count(n) == 0 ? 1 : 0;
    }
    ASSERT_EQ(list_.in_flight_segments(), open);
    ASSERT_EQ(list_.in_flight_bytes() == 0, open == 0);
  }

  std::map<uint64_t, bool> delivered_;
};

TEST_F(RandomTest, EverySegmentEndsOnceAndWhatIsInFlightAddsUp) { run(1); }
TEST_F(RandomTest, AlsoWithAnotherSeed) { run(2); }

}  // namespace
}  // namespace heddle::transport
