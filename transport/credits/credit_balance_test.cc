// The sender's side of credits: how much may be sent, and when demand is advertised.
#include "transport/credits/credit_balance.h"

#include <gtest/gtest.h>

#include <array>
#include <span>

namespace heddle::transport {
namespace {

TEST(CreditBalanceTest, WithoutCreditsEverythingMayLeave) {
  const CreditBalance balance;
  EXPECT_FALSE(balance.on());
  EXPECT_TRUE(balance.covers(UINT64_MAX));
}

TEST(CreditBalanceTest, NothingLeavesBeyondTheLimitAndLostBytesMayLeaveAgain) {
  CreditBalance balance;
  balance.open(3000);
  EXPECT_TRUE(balance.covers(3000));
  EXPECT_FALSE(balance.covers(3001));
  balance.on_sent(2500);
  EXPECT_EQ(balance.left(), 500u);
  balance.on_lost(1500);
  EXPECT_EQ(balance.left(), 2000u);
  balance.on_acked(1500, true);  // it had arrived after all
  EXPECT_EQ(balance.left(), 500u);
  balance.on_acked(1000, false);
  EXPECT_EQ(balance.left(), 500u);
}

TEST(CreditBalanceTest, AnOldCreditFrameTakesNothingBack) {
  CreditBalance balance;
  balance.open(1000);
  balance.on_credit({5000, 600});
  balance.on_credit({4000, 600});
  EXPECT_EQ(balance.left(), 5000u);
}

TEST(CreditBalanceTest, DemandIsToldOnceAndOnlyBeyondTheCredit) {
  CreditBalance balance;
  balance.open(10'000);
  EXPECT_FALSE(balance.note_backlog(10'000));
  EXPECT_TRUE(balance.note_backlog(100'000));
  EXPECT_EQ(balance.demand().wanted, 100'000u);
  EXPECT_FALSE(balance.note_backlog(100'000));
  EXPECT_FALSE(balance.note_backlog(110'000)) << "not for every small message";
  EXPECT_TRUE(balance.note_backlog(200'000));
  const DemandFrame second = balance.demand();
  EXPECT_EQ(second.wanted, 200'000u);
  EXPECT_EQ(second.serial, 2u);
}

TEST(CreditBalanceTest, AnIdleSenderWithdrawsItsDemand) {
  CreditBalance balance;
  balance.open(1000);
  EXPECT_TRUE(balance.note_backlog(50'000));
  balance.on_sent(1000);
  EXPECT_FALSE(balance.note_idle()) << "what is in flight may come back";
  balance.on_acked(1000, false);
  EXPECT_TRUE(balance.note_idle());
  const DemandFrame demand = balance.demand();
  EXPECT_EQ(demand.wanted, 1000u);
  EXPECT_EQ(demand.settled, 1000u);
  EXPECT_FALSE(balance.note_idle());
}

TEST(CreditBalanceTest, ASilentSenderKeepsItsAllowanceOnly) {
  CreditBalance balance;
  balance.open(1000);
  balance.on_credit({50'000, 2000});
  balance.note_idle();
  EXPECT_EQ(balance.left(), 2000u);
  EXPECT_EQ(balance.demand().settled, 48'000u) << "the rest is reported as returned";
}

TEST(CreditFramesTest, EveryFieldSurvivesAndShortOnesAreRejected) {
  std::array<std::byte, kDemandBytes> space{};
  Writer demand(space);
  write_demand({7, UINT64_C(1) << 40, UINT64_MAX}, demand);
  EXPECT_EQ(demand.left(), 0u);
  for (size_t bytes = 0; bytes < kDemandBytes; ++bytes) {
    Reader reader{std::span<const std::byte>(space).subspan(1, bytes)};
    DemandFrame read;
    EXPECT_EQ(read_demand(reader, read), bytes == kDemandBytes - 1);
    if (bytes < kDemandBytes - 1) continue;
    EXPECT_EQ(read.serial, 7u);
    EXPECT_EQ(read.settled, UINT64_C(1) << 40);
    EXPECT_EQ(read.wanted, UINT64_MAX);
  }
  Writer credit(space);
  write_credit({UINT64_MAX - 1, 12'345}, credit);
  EXPECT_EQ(credit.left(), kDemandBytes - kCreditBytes);
  for (size_t bytes = 0; bytes < kCreditBytes; ++bytes) {
    Reader reader{std::span<const std::byte>(space).subspan(1, bytes)};
    CreditFrame read;
    EXPECT_EQ(read_credit(reader, read), bytes == kCreditBytes - 1);
    if (bytes < kCreditBytes - 1) continue;
    EXPECT_EQ(read.limit, UINT64_MAX - 1);
    EXPECT_EQ(read.allowance, 12'345u);
  }
}

}  // namespace
}  // namespace heddle::transport
