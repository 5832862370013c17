// Limits: actions an hour, hosts, pauses, across monitors and restarts.
#include "steering/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace heddle::steering {
namespace {

using testing::HasSubstr;

constexpr int64_t kS = 1'000'000'000;

Decision decision(Outcome outcome, const std::string& target, int64_t at_s) {
  Decision made;
  made.at_ns = (1'000'000 + at_s) * kS;
  made.job = "job";
  made.target = target;
  made.effect = "slurm_drain";
  made.outcome = outcome;
  return made;
}

// A log with an action that was taken at each of the times.
History with(const Limits& limits, const std::vector<std::pair<std::string, int64_t>>& actions) {
  History history(limits);
  for (const auto& [target, at_s] : actions) {
    history.add(decision(Outcome::kStarted, target, at_s));
    history.add(decision(Outcome::kDone, target, at_s + 1));
  }
  return history;
}

std::string refuse(const History& history, const std::string& target, int64_t at_s) {
  return history.refuse(decision(Outcome::kStarted, target, at_s));
}

TEST(HistoryTest, ActionsOfTheLastHourAreCounted) {
  const Limits limits{.actions_per_hour = 2, .hosts = 10};
  const History history = with(limits, {{"h1", 0}, {"h2", 1000}});
  EXPECT_THAT(refuse(history, "h3", 3599), HasSubstr("2 actions in the last hour"));
  EXPECT_EQ(refuse(history, "h3", 3600), "");
  EXPECT_THAT(refuse(history, "h3", -500), HasSubstr("limits.actions_per_hour"));  // set back
}

TEST(HistoryTest, OnlySomeHostsHaveAnActionAtATime) {
  const Limits limits{.actions_per_hour = 10, .hosts = 1, .hosts_within = seconds(7200)};
  History history = with(limits, {{"h1", 0}});
  EXPECT_THAT(refuse(history, "h2", 7199), HasSubstr("1 other host had an action"));
  EXPECT_EQ(refuse(history, "h1", 7199), "");
  EXPECT_EQ(refuse(history, "h2", 7200), "");
  Decision undone = decision(Outcome::kDone, "h1", 100);
  undone.undo = true;
  history.add(undone);
  EXPECT_EQ(refuse(history, "h2", 101), "");
}

TEST(HistoryTest, TheSameActionPauses) {
  const Limits limits{.actions_per_hour = 10, .host_pause = seconds(600)};
  History history = with(limits, {{"h1", 0}});
  EXPECT_THAT(refuse(history, "h1", 599), HasSubstr("limits.host_pause"));
  EXPECT_EQ(history.done_for(decision(Outcome::kStarted, "h1", 599))->job, "job");
  EXPECT_FALSE(history.done_for(decision(Outcome::kStarted, "h1", 600)));
  Decision other = decision(Outcome::kStarted, "h1", 10);
  other.effect = "kubernetes_condition HeddleFault";
  EXPECT_EQ(history.refuse(other), "");
  Decision undone = decision(Outcome::kDone, "h1", 100);
  undone.undo = true;
  history.add(undone);
  EXPECT_FALSE(history.done_for(decision(Outcome::kStarted, "h1", 101)));
  EXPECT_THAT(refuse(history, "h1", 101), HasSubstr("limits.host_pause"));  // no flapping
}

TEST(HistoryTest, AnActionThatFailedIsNotInEffectButCounts) {
  History history(Limits{.actions_per_hour = 1});
  history.add(decision(Outcome::kStarted, "h1", 0));
  history.add(decision(Outcome::kFailed, "h1", 1));
  EXPECT_THAT(refuse(history, "h1", 10), HasSubstr("actions_per_hour"));
  EXPECT_EQ(refuse(history, "h1", 3600), "");
}

TEST(HistoryTest, AnActionWhoseMonitorWasKilledCounts) {
  History history(Limits{.hosts = 1});
  history.add(decision(Outcome::kStarted, "h1", 0));
  EXPECT_THAT(refuse(history, "h2", 10), HasSubstr("limits.hosts"));
  EXPECT_THAT(refuse(history, "h1", 10), HasSubstr("limits.host_pause"));
  EXPECT_FALSE(history.done_for(decision(Outcome::kStarted, "h1", 10)));
}

TEST(HistoryTest, AnEndChangesNoEntryOfAnotherMonitor) {
  History history(Limits{.hosts = 1});
  Decision started = decision(Outcome::kStarted, "h1", 0);
  started.job_id = "/a/job";
  history.add(started);
  Decision failed = decision(Outcome::kFailed, "h1", 1);
  failed.job_id = "/b/job";
  history.add(failed);
  EXPECT_THAT(refuse(history, "h2", 10), HasSubstr("limits.hosts"));
  Decision done = decision(Outcome::kDone, "h1", 1);
  done.job_id = "/a/job";
  history.add(done);
  EXPECT_TRUE(history.done_for(done)->own);
  done.job_id = "/b/job";  // of the same name
  EXPECT_FALSE(history.done_for(done)->own);
}

TEST(HistoryTest, DryRunsAndOthersAreLimitedOnTheirOwn) {
  History history(Limits{.actions_per_hour = 1});
  Decision dry = decision(Outcome::kWouldRun, "h1", 0);
  dry.dry = true;
  history.add(dry);
  EXPECT_EQ(refuse(history, "h2", 1), "");
  EXPECT_THAT(history.refuse(dry), HasSubstr("limits.host_pause"));
}

}  // namespace
}  // namespace heddle::steering
