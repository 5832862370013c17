// Plans: comms of each pattern, sizes of messages, and that both ends agree.
#include "nccl/drive/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace heddle::nccl {
namespace {

using ::testing::HasSubstr;

Plan plan_of(DriveOptions options, int rank) {
  options.rank = rank;
  Result<Plan> plan = make_plan(options);
  EXPECT_TRUE(plan) << plan.error().message();
  return *std::move(plan);
}

uint64_t total(const CommPlan& comm) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < comm.messages; ++i) bytes += comm.bytes_of(i);
  return bytes;
}

// Every send has a receive at its peer that expects the same messages, and no receive is left.
void expect_both_ends_agree(const DriveOptions& options) {
  std::map<std::string, const CommPlan*> receives;
  std::vector<Plan> plans;
  for (int rank = 0; rank < options.size; ++rank) plans.push_back(plan_of(options, rank));
  for (const Plan& plan : plans) {
    for (const CommPlan& each : plan.receives) receives[each.key] = &each;
  }
  size_t sends = 0;
  for (const Plan& plan : plans) {
    for (const CommPlan& send : plan.sends) {
      ++sends;
      ASSERT_TRUE(receives.contains(send.key)) << send.key;
      const CommPlan& receive = *receives[send.key];
      ASSERT_EQ(send.messages, receive.messages) << send.key;
      for (uint64_t i = 0; i < send.messages; ++i) {
        EXPECT_EQ(send.bytes_of(i), receive.bytes_of(i));
        EXPECT_LE(send.bytes_of(i), plan.slot_bytes);
      }
    }
  }
  EXPECT_EQ(sends, receives.size());
}

TEST(DrivePlan, BothEndsOfEveryCommAgree) {
  for (const TrafficPattern pattern : {TrafficPattern::kRing, TrafficPattern::kTree,
                                       TrafficPattern::kP2p, TrafficPattern::kRegistered}) {
    for (const int size : {2, 3, 5}) {
      SCOPED_TRACE(std::string(name_of(pattern)) + " of " + std::to_string(size));
      expect_both_ends_agree({.size = size,
                              .pattern = pattern,
                              .bytes = 1'000'003,
                              .message_bytes = 65'536,
                              .channels = 3,
                              .zero_every = 7});
    }
  }
}

TEST(DrivePlan, RingMovesAnAllReducesBytes) {
  const Plan plan = plan_of({.size = 4, .bytes = 16 << 20, .channels = 2}, 1);
  ASSERT_EQ(plan.sends.size(), 2U);
  EXPECT_EQ(plan.sends[0].peer, 2);
  EXPECT_EQ(plan.receives[0].peer, 0);
  // 2 (n - 1) / n of the buffer.
  EXPECT_EQ(total(plan.sends[0]) + total(plan.sends[1]), uint64_t{24} << 20);
  EXPECT_EQ(plan.sends[0].per_step, 2U);
  ASSERT_EQ(plan.sends[0].after.size(), 1U);
  EXPECT_EQ(plan.sends[0].after[0].lag, 2U);
  EXPECT_EQ(plan.in_flight, 4);
}

TEST(DrivePlan, TreeRanksHaveParentAndChildren) {
  const DriveOptions options{.size = 5, .pattern = TrafficPattern::kTree, .bytes = 1 << 20};
  EXPECT_EQ(plan_of(options, 0).sends.size(), 2U);
  const Plan inner = plan_of(options, 1);
  ASSERT_EQ(inner.sends.size(), 3U);  // up, and down to 3 and 4
  EXPECT_EQ(inner.sends[0].peer, 0);
  EXPECT_EQ(inner.sends[0].after.size(), 2U);  // both children
  EXPECT_EQ(inner.sends[1].after.size(), 1U);  // the parent
  const Plan leaf = plan_of(options, 4);
  ASSERT_EQ(leaf.sends.size(), 1U);
  EXPECT_TRUE(leaf.sends[0].after.empty());
  EXPECT_EQ(leaf.sends[0].message_bytes, uint64_t{512} << 10);
}

TEST(DrivePlan, LimitsAreThoseOfNccl) {
  DriveOptions options{.protocol = WireProtocol::kLl};
  EXPECT_EQ(most_message_bytes(options), uint64_t{64} << 10);
  EXPECT_EQ(messages_in_flight(options), 8);
  EXPECT_TRUE(plan_of(options, 0).optional_receive);
  options.protocol = WireProtocol::kLl128;
  EXPECT_EQ(most_message_bytes(options), uint64_t{600} << 10);
  options.pattern = TrafficPattern::kRegistered;
  EXPECT_EQ(most_message_bytes(options), uint64_t{1} << 30);
}

TEST(DrivePlan, ZeroEveryMakesEmptyMessages) {
  const Plan plan = plan_of({.bytes = 8 << 20, .message_bytes = 1 << 20, .zero_every = 3}, 0);
  EXPECT_EQ(plan.sends[0].bytes_of(2), 0U);
  EXPECT_EQ(plan.sends[0].bytes_of(3), uint64_t{1} << 20);
}

TEST(DrivePlan, OptionsOutOfRangeAreRefused) {
  const auto why = [](const DriveOptions& options) {
    const Result<Plan> plan = make_plan(options);
    EXPECT_FALSE(plan);
    return plan ? std::string() : plan.error().why;
  };
  EXPECT_THAT(why({.size = 1}), HasSubstr("1 ranks"));
  EXPECT_THAT(why({.rank = 2, .size = 2}), HasSubstr("rank 2"));
  EXPECT_THAT(why({.channels = 33}), HasSubstr("33 channels"));
  EXPECT_THAT(why({.bytes = 0}), HasSubstr("0 bytes"));
  EXPECT_THAT(why({.message_bytes = 2 << 20}), HasSubstr("NCCL sends 1048576 at most"));
}

}  // namespace
}  // namespace heddle::nccl
