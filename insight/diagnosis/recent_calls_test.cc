// A process's latest calls: found by number, the oldest forgotten.
#include "insight/diagnosis/recent_calls.h"

#include <gtest/gtest.h>

namespace heddle::insight {
namespace {

constexpr uint64_t kOne = 7;
constexpr uint64_t kOther = 3;

uint64_t number_of(const RecentCalls& calls, uint64_t communicator, uint32_t call) {
  const CallPart* const found = calls.find(communicator, call);
  return found == nullptr ? 0 : found->number;
}

TEST(RecentCalls, AreFoundByCommunicatorAndNumber) {
  RecentCalls calls(10);
  for (uint32_t call = 1; call <= 3; ++call) calls.add(kOne, call, {.number = 100 + call});
  calls.add(kOther, 2, {.number = 200});
  EXPECT_EQ(number_of(calls, kOne, 2), 102u);
  EXPECT_EQ(number_of(calls, kOther, 2), 200u);
  EXPECT_EQ(number_of(calls, kOther, 3), 0u);
  EXPECT_EQ(number_of(calls, 99, 1), 0u);
}

TEST(RecentCalls, NumbersMayComeInAnyOrderAndAgain) {
  RecentCalls calls(10);
  for (const uint32_t call : {9u, 2u, 5u, UINT32_MAX, 0u}) {
    calls.add(kOne, call, {.number = uint64_t{1000} + call});
  }
  for (const uint32_t call : {9u, 2u, 5u, UINT32_MAX, 0u}) {
    EXPECT_EQ(number_of(calls, kOne, call), uint64_t{1000} + call);
  }
  EXPECT_EQ(number_of(calls, kOne, 4), 0u);
  calls.add(kOne, 5, {.number = 77});
  EXPECT_EQ(number_of(calls, kOne, 5), 77u);
}

TEST(RecentCalls, TheOldestIsForgotten) {
  RecentCalls calls(3);
  EXPECT_FALSE(calls.add(kOne, 1, {.number = 1}));
  EXPECT_FALSE(calls.add(kOther, 1, {.number = 2}));
  EXPECT_FALSE(calls.add(kOne, 2, {.number = 3}));
  EXPECT_FALSE(calls.add(kOne, 2, {.number = 4}));
  auto forgotten = calls.add(kOne, 3, {.number = 5});
  ASSERT_TRUE(forgotten);
  EXPECT_EQ(forgotten->communicator, kOne);
  EXPECT_EQ(forgotten->part.number, 1u);
  forgotten = calls.add(kOther, 2, {.number = 6});
  ASSERT_TRUE(forgotten);
  EXPECT_EQ(forgotten->communicator, kOther);
  EXPECT_EQ(number_of(calls, kOther, 1), 0u);
  EXPECT_EQ(number_of(calls, kOther, 2), 6u);
  EXPECT_EQ(number_of(calls, kOne, 3), 5u);
}

}  // namespace
}  // namespace heddle::insight
