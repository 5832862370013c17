// The state machine of a path, checked as a table: which events make a path suspect, which bring it
// back, and what they cost.
#include "transport/path/path_state.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <utility>

namespace heddle::transport {
namespace {

using events::LossCause;
using events::PathState;

constexpr std::array kStates = {PathState::kActive, PathState::kSuspect, PathState::kProbing};
constexpr std::array kEvents = {
    PathEvent::kNone,        PathEvent::kAcked,           PathEvent::kLate,
    PathEvent::kTailTimeout, PathEvent::kProbesExhausted, PathEvent::kProbeUnanswered,
    PathEvent::kSilent,      PathEvent::kSendFailed,      PathEvent::kNewEpoch,
    PathEvent::kMoved,
};

std::set<PathEvent> events_between(PathState from, PathState to) {
  std::set<PathEvent> found;
  for (const PathEvent event : kEvents) {
    if (transition_of(from, event).to == to) found.insert(event);
  }
  return found;
}

TEST(PathStateTest, EachStateAndEventHasAtMostOneRow) {
  std::set<std::pair<PathState, PathEvent>> seen;
  for (const path_state::Row& row : path_state::kTable) {
    EXPECT_TRUE(seen.emplace(row.from, row.event).second);
  }
}

TEST(PathStateTest, AnActivePathBecomesSuspectBySilenceByFailedWritesAndByUnansweredProbesOnly) {
  EXPECT_EQ(events_between(PathState::kActive, PathState::kSuspect),
            (std::set{PathEvent::kProbesExhausted, PathEvent::kSilent, PathEvent::kSendFailed}));
  EXPECT_TRUE(events_between(PathState::kActive, PathState::kProbing).empty());
}

TEST(PathStateTest, OnlyAnAcknowledgementMakesAPathActiveAgain) {
  for (const PathState from : {PathState::kSuspect, PathState::kProbing}) {
    EXPECT_EQ(events_between(from, PathState::kActive), std::set{PathEvent::kAcked});
    EXPECT_FALSE(transition_of(from, PathEvent::kAcked).loss.has_value());
  }
}

TEST(PathStateTest, APathThatLeavesTheActiveStateLosesItsPacketsAndIsProbed) {
  for (const PathEvent event : kEvents) {
    const PathTransition then = transition_of(PathState::kActive, event);
    if (then.to == PathState::kActive) continue;
    EXPECT_TRUE(then.loss.has_value());
    EXPECT_TRUE(then.probe);
  }
}

TEST(PathStateTest, LatePacketsAndTailTimeoutsProbeAPathAndDeclareNothingLost) {
  for (const PathEvent event : {PathEvent::kLate, PathEvent::kTailTimeout}) {
    const PathTransition then = transition_of(PathState::kActive, event);
    EXPECT_EQ(then.to, PathState::kActive);
    EXPECT_FALSE(then.loss.has_value());
    EXPECT_TRUE(then.probe);
  }
}

TEST(PathStateTest, OnlyMissingAnswersAreTimeouts) {
  for (const PathState from : kStates) {
    for (const PathEvent event : kEvents) {
      const bool timeout = transition_of(from, event).loss == LossCause::kTimeout;
      const bool expected = from == PathState::kActive ? event == PathEvent::kProbesExhausted
                                                       : event == PathEvent::kProbeUnanswered;
      EXPECT_EQ(timeout, expected);
    }
  }
}

TEST(PathStateTest, NoEventChangesNothing) {
  for (const PathState from : kStates) {
    const PathTransition then = transition_of(from, PathEvent::kNone);
    EXPECT_EQ(then.to, from);
    EXPECT_FALSE(then.loss.has_value());
    EXPECT_FALSE(then.probe);
  }
}

TEST(PathHealthTest, UnansweredProbesAreCountedUpToALimit) {
  PathHealth health;
  for (int i = 0; i < 100; ++i) health.count_unanswered();
  EXPECT_EQ(health.unanswered_probes(), PathHealth::kMostUnanswered);
  health.answered();
  EXPECT_EQ(health.unanswered_probes(), 0);
  EXPECT_TRUE(health.active()) << "states change by enter() alone";
}

}  // namespace
}  // namespace heddle::transport
