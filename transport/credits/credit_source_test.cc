// The receiver's side of credits: who is given how much, and what senders that lose, stall, lie or
// leave can do to the others.
#include "transport/credits/credit_source.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace heddle::transport {
namespace {

constexpr uint32_t kCost = 1538;  // of a datagram of 1,472 bytes

class CreditSourceTest : public testing::Test {
 protected:
  explicit CreditSourceTest(BitsPerSec rate = {}) : source_({rate, mebibytes(1), 1472}) {}

  void join(uint32_t senders) {
    for (uint32_t i = 0; i < senders; ++i) {
      source_.join(accounts_[i], i + 1, source_.first_allowance());
    }
    poll();
  }
  void demand(uint32_t sender, uint64_t more) {
    CreditAccount& account = accounts_[sender];
    // As a silent sender does: what is beyond its allowance is given back.
    const uint64_t kept = std::min<uint64_t>(holds(sender), source_.allowance());
    const uint64_t settled = account.limit - kept;
    const uint64_t from = std::max(account.wanted, settled);
    EXPECT_TRUE(source_.on_demand(now_, account, {++serials_[sender], settled, from + more}));
  }
  // `datagrams` datagrams of the sender arrive.
  void arrive(uint32_t sender, uint32_t datagrams, bool repeated = false) {
    source_.on_arrival(now_, accounts_[sender], {datagrams * kCost, datagrams, repeated});
  }
  std::vector<uint32_t> poll() {
    const auto due = source_.poll(now_);
    for (const uint32_t id : due) source_.take_frame(accounts_[id - 1]);
    return {due.begin(), due.end()};
  }
  uint64_t holds(uint32_t sender) const {
    return accounts_[sender].limit - accounts_[sender].received;
  }
  // Every sender uses its credit at once, until `datagrams` datagrams have arrived, one per
  // microsecond.
  void run(uint32_t senders, uint32_t datagrams) {
    for (uint32_t sender = 0; datagrams > 0;) {
      uint32_t tried = 0;
      while (holds(sender) < kCost && tried++ < senders) sender = (sender + 1) % senders;
      now_ += micros(1);
      if (holds(sender) >= kCost) {
        arrive(sender, 1);
        --datagrams;
      }
      poll();
      // What silent senders held, and what is left of turns, may come to it.
      ASSERT_LE(source_.outstanding(), source_.cap() * 3 / 2 + senders * kCost);
      sender = (sender + 1) % senders;
      ASSERT_LT(now_, seconds(5));
    }
  }

  Nanos now_ = seconds(1);
  CreditSource source_;
  std::array<CreditAccount, 128> accounts_;
  std::array<uint32_t, 128> serials_{};
};

TEST_F(CreditSourceTest, ALoneSenderMayBeginWithAllOfItAndManyOnlyWithTheirPart) {
  EXPECT_EQ(source_.first_allowance(), source_.cap());
  join(100);
  uint64_t all = 0;
  for (int i = 0; i < 100; ++i) all += source_.allowance();
  EXPECT_LE(all, std::max<uint64_t>(source_.cap() / 2, 100 * 512));
}

TEST_F(CreditSourceTest, WhenASenderJoinsAllAreSentTheirSmallerShare) {
  join(2);
  source_.join(accounts_[2], 3, source_.first_allowance());
  const std::vector<uint32_t> credited = poll();
  EXPECT_EQ(credited.size(), 3u);
}

TEST_F(CreditSourceTest, OutstandingCreditOfManySendersStaysBelowCapAndAllowances) {
  join(100);
  for (uint32_t i = 0; i < 100; ++i) demand(i, 1 << 20);
  poll();
  EXPECT_LE(source_.outstanding(), source_.cap() + 100 * source_.allowance());
  EXPECT_GT(source_.outstanding(), source_.cap() / 2);
}

TEST_F(CreditSourceTest, SendersShareEvenlyByBytes) {
  join(10);
  for (uint32_t i = 0; i < 10; ++i) demand(i, 1 << 24);
  std::array<uint64_t, 10> before{};
  for (uint32_t i = 0; i < 10; ++i) before[i] = accounts_[i].received;
  run(10, 5000);
  for (uint32_t i = 0; i < 10; ++i) {
    const auto got = static_cast<double>(accounts_[i].received - before[i]);
    EXPECT_NEAR(got, 500.0 * kCost, 20.0 * kCost) << i;
  }
}

TEST_F(CreditSourceTest, NothingIsGivenBeyondTheDemandAndTheAllowance) {
  join(4);
  demand(0, 3000);
  poll();
  EXPECT_LE(accounts_[0].limit, 3000u + source_.allowance() + source_.cap());
  EXPECT_GE(accounts_[0].limit, 3000u);
  EXPECT_EQ(source_.next_at() == Nanos::never(), source_.outstanding() == 0);
}

TEST_F(CreditSourceTest, AnOldDemandChangesNothing) {
  join(1);
  EXPECT_TRUE(source_.on_demand(now_, accounts_[0], {5, 0, 100'000}));
  EXPECT_TRUE(source_.on_demand(now_, accounts_[0], {4, 0, 900'000}));
  EXPECT_EQ(accounts_[0].wanted, 100'000u);
}

TEST_F(CreditSourceTest, ADemandWithoutOrderToTheLatestIsAnError) {
  join(1);
  EXPECT_TRUE(source_.on_demand(now_, accounts_[0], {5, 0, 100'000}));
  EXPECT_FALSE(source_.on_demand(now_, accounts_[0], {5 + 0x80000000, 0, 900'000}));
  EXPECT_EQ(accounts_[0].wanted, 100'000u);
}

// Its credit is advertised again at growing intervals, and the others get its share.
TEST_F(CreditSourceTest, OneThatDemandsAndNeverSendsKeepsNothingFromTheOthers) {
  join(2);
  demand(0, UINT64_MAX / 2);
  poll();
  const uint64_t held = source_.outstanding();
  ASSERT_GT(held, 0u);
  int credited = 0;
  for (int i = 0; i < 2000; ++i) {
    now_ += millis(1);
    for (const uint32_t id : poll()) credited += id == 1 ? 1 : 0;
  }
  EXPECT_LT(source_.outstanding(), 2 * kCost);
  EXPECT_LE(holds(0), 3 * source_.cap());
  EXPECT_GE(credited, 5);
  EXPECT_LE(credited, 50);
  demand(1, 1 << 20);
  run(2, 100);
}

TEST_F(CreditSourceTest, ALostCreditFrameIsToldAgainUntilSomethingArrives) {
  join(1);
  demand(0, 1 << 20);
  EXPECT_TRUE(poll().empty()) << "what it was given to begin with is all that may be outstanding";
  std::vector<uint32_t> due;
  for (int i = 0; i < 20 && due.empty(); ++i) {
    now_ += millis(1);
    due = poll();
  }
  EXPECT_EQ(due.front(), 1u);
  EXPECT_EQ(accounts_[0].unanswered, 1);
  arrive(0, 1);
  EXPECT_EQ(accounts_[0].unanswered, 0);
}

TEST_F(CreditSourceTest, SendersThatLeaveReturnAllTheirCredit) {
  join(3);
  for (uint32_t i = 0; i < 3; ++i) demand(i, 1 << 20);
  poll();
  for (const uint32_t i : {1u, 0u, 2u}) source_.leave(accounts_[i]);
  EXPECT_EQ(source_.outstanding(), 0u);
  EXPECT_TRUE(poll().empty());
  now_ += seconds(1);
  EXPECT_TRUE(poll().empty());
  EXPECT_EQ(source_.next_at(), Nanos::never());
}

// What it says of itself raises nothing beyond what it was given.
TEST_F(CreditSourceTest, OneThatClaimsToHaveSentMoreThanItMayGetsNoMoreForIt) {
  join(2);
  const uint64_t limit = accounts_[0].limit;
  EXPECT_TRUE(source_.on_demand(now_, accounts_[0], {1, UINT64_MAX, UINT64_MAX}));
  EXPECT_EQ(accounts_[0].received, limit);
  poll();
  EXPECT_LE(source_.outstanding(), source_.cap());
  EXPECT_LE(holds(0), source_.cap() + source_.allowance());
}

TEST_F(CreditSourceTest, LossesLowerTheCapAndItComesBack) {
  join(1);
  demand(0, UINT64_C(1) << 30);
  run(1, 500);
  const uint64_t before = source_.cap();
  for (int i = 0; i < 400; ++i) {
    poll();
    now_ += micros(1);
    arrive(0, 1, i % 2 == 0);
  }
  EXPECT_LT(source_.cap(), before);
  run(1, 30'000);
  EXPECT_GE(source_.cap(), before / 10 * 9);
}

TEST_F(CreditSourceTest, TheMeasuredRateIsTheLinks) {
  join(4);
  for (uint32_t i = 0; i < 4; ++i) demand(i, 1 << 24);
  run(4, 3000);  // 1,538 bytes a microsecond
  EXPECT_NEAR(static_cast<double>(source_.rate().count), 12.3e9, 0.7e9);
}

class PacedCreditSourceTest : public CreditSourceTest {
 protected:
  PacedCreditSourceTest() : CreditSourceTest(gigabits_per_s(1)) {}
};

TEST_F(PacedCreditSourceTest, CreditIsGivenNoFasterThanTheConfiguredRate) {
  join(2);
  for (uint32_t i = 0; i < 2; ++i) demand(i, 1 << 24);
  const uint64_t before = accounts_[0].limit + accounts_[1].limit;
  for (int i = 0; i < 100'000; ++i) {  // 100 ms
    now_ += micros(1);
    poll();
    for (uint32_t sender = 0; sender < 2; ++sender) {
      if (holds(sender) >= kCost) arrive(sender, 1);
    }
  }
  const uint64_t given = accounts_[0].limit + accounts_[1].limit - before;
  EXPECT_LE(given, 12'500'000u + 100'000u);
  EXPECT_GE(given, 12'000'000u);
}

class FastCreditSourceTest : public CreditSourceTest {
 protected:
  FastCreditSourceTest() : CreditSourceTest(gigabits_per_s(100)) {}

  // One and a half times what the link holds in `rtt`, and a turn.
  static double enough(Nanos rtt) {
    return 9.0 / 8 * (1.5 * 12.5 * static_cast<double>(rtt.count) + 8'000);
  }
  double cap() const { return static_cast<double>(source_.cap()); }
};

TEST_F(FastCreditSourceTest, FarSendersCountWithTheirRoundTripsFromTheFirstDemandOn) {
  join(3);
  source_.on_round_trip(now_, accounts_[0], micros(4));
  source_.on_round_trip(now_, accounts_[1], micros(13));
  source_.on_round_trip(now_, accounts_[2], micros(13));
  demand(0, 1 << 20);
  EXPECT_NEAR(cap(), enough(micros(4)), 1'000);
  demand(1, 1 << 20);
  demand(2, 1 << 20);
  EXPECT_NEAR(cap(), enough(micros(10)), 1'000);
  poll();
  // That credit came to payload later than the network takes says nothing: a queue may explain it.
  now_ += micros(40);
  for (uint32_t i = 0; i < 3; ++i) arrive(i, 1);
  now_ += micros(40);
  for (uint32_t i = 0; i < 3; ++i) arrive(i, 1);
  EXPECT_NEAR(cap(), enough(micros(10)), 1'000);
}

// The payload may have been in front of it.
TEST_F(FastCreditSourceTest, ARoundTripInWhichPayloadArrivedDoesNotCount) {
  join(2);
  source_.on_round_trip(now_, accounts_[0], micros(20));
  demand(0, 1 << 20);
  poll();
  now_ += micros(100);
  arrive(0, 1);
  now_ += micros(30);
  source_.on_round_trip(now_, accounts_[1], micros(31));
  EXPECT_EQ(accounts_[1].clear_at, Nanos{});
  now_ += micros(1);
  source_.on_round_trip(now_, accounts_[1], micros(31));
  EXPECT_EQ(accounts_[1].rtt_surely, micros(31));
  source_.on_round_trip(now_, accounts_[1], micros(16));
  source_.on_round_trip(now_, accounts_[1], micros(25));
  EXPECT_EQ(accounts_[1].rtt_surely, micros(16)) << "the shortest of them counts";
  demand(1, 1 << 20);
  EXPECT_NEAR(cap(), enough(micros(18)), 1'000);
  now_ += seconds(11);
  source_.on_round_trip(now_, accounts_[1], micros(25));
  EXPECT_EQ(accounts_[1].rtt_surely, micros(25)) << "but not for ever: routes change";
}

// A rate that nine tenths arrive of asks for a tenth more, not for half as much again.
TEST_F(FastCreditSourceTest, WhereTheLinkIsNotFullTheBoundGrowsByWhatIsMissing) {
  join(4);
  for (uint32_t i = 0; i < 4; ++i) {
    source_.on_round_trip(now_, accounts_[i], micros(10));
    demand(i, 1 << 30);
  }
  poll();
  const double before = cap();
  // One datagram every 140 ns, where the link takes 123, until a round has ended.
  for (uint32_t i = 0; i < 1'000 && cap() < 1.01 * before; ++i) {
    now_ += nanos(140);
    for (uint32_t k = 0; k < 4; ++k) {
      const uint32_t sender = (i + k) % 4;
      if (holds(sender) < kCost) continue;
      arrive(sender, 1);
      break;
    }
    poll();
  }
  EXPECT_GE(cap(), before * 1.05);
  EXPECT_LE(cap(), before * 1.3);
}

}  // namespace
}  // namespace heddle::transport
