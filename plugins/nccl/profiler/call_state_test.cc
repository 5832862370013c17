// When a call ends, in every order in which NCCL reports its parts.
#include "plugins/nccl/profiler/call_state.h"

#include <gtest/gtest.h>

namespace heddle::nccl {
namespace {

using Change = CallState::Change;

TEST(CallState, WithAKnownNumberOfKernelsItEndsWithTheLastOfThemAndNoLivePart) {
  CallState state;
  const uint32_t generation = state.begin(2, false);
  EXPECT_EQ(state.begin_part(generation), Change::kDone);  // kernel
  EXPECT_EQ(state.begin_part(generation), Change::kDone);  // op
  EXPECT_EQ(state.stop_host(generation), Change::kDone);
  EXPECT_EQ(state.end_part(generation, true), Change::kDone);
  EXPECT_EQ(state.begin_part(generation), Change::kDone);  // kernel
  EXPECT_EQ(state.end_part(generation, true), Change::kDone);
  EXPECT_EQ(state.end_part(generation, false), Change::kEnds);
  EXPECT_EQ(state.end_part(generation, false), Change::kStale);
}

TEST(CallState, WithoutKernelsItEndsWhenNoPartIsLive) {
  CallState state;
  const uint32_t generation = state.begin(0, false);
  EXPECT_EQ(state.stop_host(generation), Change::kDone);  // no part yet
  EXPECT_EQ(state.begin_part(generation), Change::kDone);
  EXPECT_EQ(state.begin_part(generation), Change::kDone);
  EXPECT_EQ(state.end_part(generation, false), Change::kDone);
  EXPECT_EQ(state.end_part(generation, false), Change::kEnds);
  EXPECT_EQ(state.begin_part(generation), Change::kStale);
}

TEST(CallState, PartsThatEndBeforeTheHostLeaveTheEndToIt) {
  CallState state;
  const uint32_t generation = state.begin(1, false);
  state.begin_part(generation);
  EXPECT_EQ(state.end_part(generation, true), Change::kDone);
  EXPECT_EQ(state.stop_host(generation), Change::kEnds);
}

TEST(CallState, ACallOnTheHostEndsThere) {
  CallState state;
  EXPECT_EQ(state.stop_host(state.begin(0, true)), Change::kEnds);
}

TEST(CallState, AnotherGenerationIsStale) {
  CallState state;
  EXPECT_EQ(state.begin_part(0), Change::kStale);  // never begun
  const uint32_t first = state.begin(0, true);
  state.stop_host(first);
  const uint32_t second = state.begin(0, true);
  EXPECT_NE(first, second);
  EXPECT_EQ(state.stop_host(first), Change::kStale);
  EXPECT_EQ(state.stop_host(second), Change::kEnds);
}

TEST(CallState, RetiresOnlyWhatIsEnqueuedAndHasNoLivePart) {
  CallState state;
  EXPECT_FALSE(state.retire());
  const uint32_t generation = state.begin(3, false);
  EXPECT_FALSE(state.retire());
  state.begin_part(generation);
  state.stop_host(generation);
  EXPECT_FALSE(state.retire());
  state.end_part(generation, true);
  EXPECT_TRUE(state.retire());
  EXPECT_FALSE(state.retire());
  EXPECT_FALSE(state.abandon());
}

TEST(CallState, IsAbandonedOnce) {
  CallState state;
  EXPECT_FALSE(state.abandon());
  state.begin(1, false);
  EXPECT_TRUE(state.abandon());
  EXPECT_FALSE(state.abandon());
}

}  // namespace
}  // namespace heddle::nccl
