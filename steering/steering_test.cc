// Decisions: from alarms, a policy and the time to what is done, and why not.
#include "steering/steering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace heddle::steering {
namespace {

using insight::PlaceKind;
using insight::VerdictClass;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kS = 1'000'000'000;
constexpr int64_t kBegin = 1'000'000 * kS;  // of the job, since 1970

monitor::Alarm alarm(uint64_t number, const std::string& host, int64_t raised_s = 0) {
  monitor::Alarm made;
  made.number = number;
  made.verdict.what = VerdictClass::kNonCommunicationHang;
  made.verdict.place = {PlaceKind::kRank, {0}, host};
  made.verdict.confidence = 0.95;
  made.place = "rank 0 on " + host;
  made.hosts = {host};
  made.raised_ns = raised_s * kS;
  return made;
}

Policy policy(const std::string& rules, const std::string& before = "") {
  Result<Policy> made = parse_policy("version = 1\n" + before + rules, "p.toml");
  EXPECT_TRUE(made) << made.error().message();
  return std::move(*made);
}

const std::string kRule = R"([[rule]]
name = "r"
persists = "10s"
confirm = []
action = "command"
command = ["act", "{host}"]
)";
const std::string kUndo = kRule + "undo_command = [\"undo\", \"{host}\"]\n";
const std::string kTested = R"([[rule]]
name = "r"
persists = "10s"
confirm = ["test", "{host}", "{peer}"]
action = "command"
command = ["act", "{host}"]
)";
const std::string kMany = "[limits]\nactions_per_hour = 100\nhosts = 100\n";

// A monitor that looks at these alarms at this second of the job.
class Watcher {
 public:
  Watcher(Policy policy, bool act, const std::string& job = "job")
      : steering(std::move(policy), {job, "/jobs/" + job}, act) {}
  Watcher(Policy policy, const JobName& job) : steering(std::move(policy), job, true) {}

  std::vector<std::string> look(std::vector<monitor::Alarm> lasting, int64_t at_s) {
    now_s = at_s;
    std::vector<std::string> texts;
    for (const monitor::Alarm& each : lasting) {
      if (seen_.insert(each.number).second) take(lasting, Nanos{each.raised_ns}, texts);
    }
    take(lasting, Nanos{at_s * kS}, texts);
    return texts;
  }
  // "outcome target: why"
  static std::string text(const Decision& decision) {
    return std::string(decision.undo ? "undo " : "") + name_of(decision.outcome) + " " +
           decision.target + (decision.why.empty() ? "" : ": " + decision.why);
  }
  std::string start() { return text(steering.start(at())); }
  std::string end(int status, bool timed_out = false) {
    return text(steering.ended({.exit_status = status, .timed_out = timed_out}, at()));
  }
  std::string test(int status, bool timed_out = false) {
    const auto ended = steering.tested({.exit_status = status, .timed_out = timed_out}, at());
    return ended ? text(*ended) : "confirmed";
  }
  int64_t at() const { return kBegin + now_s * kS; }

  Steering steering;
  int64_t now_s = 0;

 private:
  void take(const std::vector<monitor::Alarm>& lasting, Nanos now,
            std::vector<std::string>& texts) {
    for (const Decision& each :
         steering.look({lasting, {"h1", "h2", "h3"}, now, kBegin + now_s * kS, kBegin})) {
      texts.push_back(text(each));
    }
  }

  std::set<uint64_t> seen_;  // alarms that were looked at when they were raised
};

TEST(SteeringTest, AFaultMustLastForTheTimeOfTheRule) {
  Watcher watcher(policy(kRule), false);
  EXPECT_THAT(watcher.look({alarm(1, "h1", 100)}, 109), ElementsAre());
  EXPECT_THAT(watcher.look({alarm(1, "h1", 100)}, 110), ElementsAre("would_run h1"));
  EXPECT_THAT(watcher.look({alarm(1, "h1", 100)}, 111), ElementsAre());  // once
}

TEST(SteeringTest, ADryRunHasNoTask) {
  Watcher watcher(policy(kTested), false);
  EXPECT_THAT(watcher.look({alarm(1, "h1")}, 20),
              ElementsAre("would_run h1: if the test confirms it"));
  EXPECT_FALSE(watcher.steering.task());
}

TEST(SteeringTest, ConfidenceClassAndPlaceMustMatch) {
  Watcher watcher(policy(kRule + "class = [\"mismatch\"]\nplace = [\"rank\"]\n"), false);
  monitor::Alarm fault = alarm(1, "h1");
  EXPECT_THAT(watcher.look({fault}, 20), ElementsAre());
  fault.verdict.what = VerdictClass::kMismatch;
  fault.verdict.confidence = 0.89;
  EXPECT_THAT(watcher.look({fault}, 21), ElementsAre());
  fault.verdict.confidence = 0.9;
  fault.verdict.place.kind = PlaceKind::kNic;
  EXPECT_THAT(watcher.look({fault}, 22), ElementsAre());
  fault.verdict.place.kind = PlaceKind::kRank;
  EXPECT_THAT(watcher.look({fault}, 23), ElementsAre("would_run h1"));
}

TEST(SteeringTest, TheFirstRuleThatHoldsAppliesAndEachOnlyOnce) {
  const std::string strong =
      "[[rule]]\nname = \"strong\"\npersists = \"60s\"\nconfirm = []\naction = \"command\"\n"
      "command = [\"strong\", \"{host}\"]\n";
  Watcher watcher(policy(strong + kRule, kMany), false);
  EXPECT_THAT(watcher.look({alarm(1, "h1")}, 20), ElementsAre("would_run h1"));
  EXPECT_THAT(watcher.look({alarm(1, "h1")}, 60), ElementsAre("would_run h1"));
  EXPECT_THAT(watcher.look({alarm(1, "h1")}, 5000), ElementsAre());
}

TEST(SteeringTest, AnActionRunsAfterItsTestHasConfirmed) {
  Watcher watcher(policy(kTested), true);
  EXPECT_THAT(watcher.look({alarm(1, "h2")}, 20), ElementsAre());
  ASSERT_TRUE(watcher.steering.task());
  EXPECT_THAT(watcher.steering.task()->test, ElementsAre("test", "h2", "h1"));
  EXPECT_EQ(Watcher::text(watcher.steering.testing(watcher.at())), "testing h2");
  EXPECT_EQ(watcher.test(0), "confirmed");
  EXPECT_EQ(watcher.start(), "started h2: the test confirmed it");
  EXPECT_THAT(watcher.steering.task()->command, ElementsAre("act", "h2"));
  EXPECT_EQ(watcher.end(0), "done h2");
  EXPECT_THAT(watcher.look({alarm(1, "h2")}, 10'000), ElementsAre());
}

TEST(SteeringTest, OneDecisionCarriesTheResultOfATest) {
  const std::string asks =
      "[[rule]]\nname = \"d\"\nconfirm = [\"test\", \"{host}\"]\naction = \"slurm_drain\"\n";
  Watcher watcher(policy(asks, kMany), true);
  watcher.look({alarm(1, "h1")}, 40);
  EXPECT_EQ(watcher.steering.testing(watcher.at()).test, std::nullopt);
  EXPECT_FALSE(watcher.steering.tested({}, watcher.at()));
  const auto silent = watcher.steering.asked({.exit_status = 1}, watcher.at());
  ASSERT_TRUE(silent);
  EXPECT_EQ(silent->outcome, Outcome::kNotTested);  // the scheduler, and the test has confirmed
  EXPECT_EQ(silent->test, TestResult::kConfirmed);
  watcher.look({alarm(1, "h1")}, 5000);
  EXPECT_FALSE(watcher.steering.tested({}, watcher.at()));
  EXPECT_EQ(watcher.steering.start(watcher.at()).test, TestResult::kConfirmed);
  EXPECT_EQ(watcher.steering.ended({}, watcher.at()).test, std::nullopt);
  watcher.look({alarm(2, "h2", 6000)}, 7000);
  watcher.steering.testing(watcher.at());
  EXPECT_EQ(watcher.steering.drop(Outcome::kRefused, "", watcher.at()).test, std::nullopt);
  watcher.look({alarm(2, "h2", 6000)}, 20'000);
  watcher.steering.testing(watcher.at());
  EXPECT_EQ(watcher.steering.drop(Outcome::kInterrupted, "", watcher.at()).test,
            TestResult::kNotTested);
}

TEST(SteeringTest, AFaultThatTheTestDoesNotConfirmCostsNothing) {
  Watcher watcher(policy(kTested, "[limits]\nretry = \"60s\"\n"), true);
  const std::vector<std::pair<std::pair<int, bool>, std::string>> ends = {
      {{1, false}, "not_confirmed h1: it ended with 1"},
      {{2, false}, "not_tested h1: it ended with 2"},
      {{127, false}, "not_tested h1: it ended with 127"},
      {{137, true}, "not_tested h1: it took longer than 60 s"}};
  int64_t at_s = 20;
  for (const auto& [end, text] : ends) {
    watcher.look({alarm(1, "h1")}, at_s);
    ASSERT_TRUE(watcher.steering.task());
    EXPECT_EQ(watcher.test(end.first, end.second), text);
    EXPECT_FALSE(watcher.steering.task());
    watcher.look({alarm(1, "h1")}, at_s + 59);
    EXPECT_FALSE(watcher.steering.task());
    at_s += 60;
  }
}

TEST(SteeringTest, AnotherStatusMayConfirm) {
  Watcher watcher(policy(kTested + "confirm_status = 1\n"), true);
  watcher.look({alarm(1, "h1")}, 20);
  EXPECT_EQ(watcher.test(0), "not_confirmed h1: it ended with 0");
  watcher.look({alarm(1, "h1")}, 1000);
  EXPECT_EQ(watcher.test(1), "confirmed");
  // A killed test has the status of the signal, not 1.
  watcher.steering.drop(Outcome::kNotTested, "", watcher.at());
  watcher.look({alarm(1, "h1")}, 2000);
  EXPECT_THAT(watcher.test(1, true), HasSubstr("not_tested"));
}

TEST(SteeringTest, WithoutAHealthyPeerThereIsNoTest) {
  Watcher watcher(policy(kTested), true);
  const std::vector<monitor::Alarm> all = {alarm(1, "h1"), alarm(2, "h2"), alarm(3, "h3")};
  EXPECT_THAT(watcher.look(all, 20).front(), HasSubstr("not_tested h1: the job has no other host"));
  EXPECT_FALSE(watcher.steering.task());
}

TEST(SteeringTest, AFaultThatEndsDuringItsTestIsLeftAlone) {
  Watcher watcher(policy(kTested), true);
  watcher.look({alarm(1, "h1")}, 20);
  watcher.look({}, 21);
  EXPECT_EQ(watcher.test(0), "confirmed");
  EXPECT_EQ(watcher.start(), "over h1");
  EXPECT_FALSE(watcher.steering.task());
}

TEST(SteeringTest, LimitsAreLoggedOnceAndKept) {
  Watcher watcher(policy(kRule), true);  // one host at a time
  watcher.look({alarm(1, "h1"), alarm(2, "h2")}, 20);
  EXPECT_EQ(watcher.start(), "started h1");
  EXPECT_THAT(watcher.look({alarm(1, "h1"), alarm(2, "h2")}, 21), ElementsAre());  // it runs
  EXPECT_EQ(watcher.end(0), "done h1");
  EXPECT_THAT(watcher.look({alarm(1, "h1"), alarm(2, "h2")}, 22).front(),
              HasSubstr("refused h2: 1 other host had an action"));
  EXPECT_THAT(watcher.look({alarm(1, "h1"), alarm(2, "h2")}, 23), ElementsAre());
  watcher.look({alarm(1, "h1"), alarm(2, "h2")}, 20 + 24 * 3600);
  ASSERT_TRUE(watcher.steering.task());
  EXPECT_EQ(watcher.steering.task()->base.target, "h2");
}

TEST(SteeringTest, LimitsHoldAcrossARestartAndBesideOtherMonitors) {
  Watcher first(policy(kRule), true, "one");
  first.look({alarm(1, "h1")}, 20);
  const Decision started = first.steering.start(first.at());
  Watcher second(policy(kRule), true, "two");
  second.look({alarm(1, "h2")}, 30);
  ASSERT_TRUE(second.steering.task());
  second.steering.learn(started);  // while its test ran
  EXPECT_THAT(second.start(), HasSubstr("refused h2: 1 other host had an action"));
  const Decision done = first.steering.ended({}, first.at());
  second.steering.learn(done);
  EXPECT_THAT(second.look({alarm(2, "h1")}, 700),
              ElementsAre("already h1: it is in effect at h1, for job one"));
  Watcher again(policy(kRule), true, "one");
  again.steering.learn(started);
  again.steering.learn(done);
  EXPECT_THAT(again.look({alarm(1, "h1")}, 40), ElementsAre("already h1: it is in effect at h1"));
}

TEST(SteeringTest, WhenTheFaultIsOverTheActionIsUndoneIfTheRuleSaysSo) {
  for (const bool undoes : {false, true}) {
    Watcher watcher(policy(undoes ? kUndo : kRule), true);
    watcher.look({alarm(1, "h1")}, 20);
    watcher.start();
    watcher.end(0);
    watcher.look({}, 30);
    ASSERT_EQ(watcher.steering.task().has_value(), undoes);
    if (!undoes) continue;
    EXPECT_THAT(watcher.steering.task()->command, ElementsAre("undo", "h1"));
    EXPECT_EQ(watcher.start(), "undo started h1");
    EXPECT_EQ(watcher.end(1), "undo failed h1: it ended with 1");
    watcher.look({}, 40);
    EXPECT_FALSE(watcher.steering.task());
    watcher.look({}, 30 + 600);
    watcher.start();
    EXPECT_EQ(watcher.end(0), "undo done h1");
    watcher.look({}, 5000);
    EXPECT_FALSE(watcher.steering.task());
  }
}

TEST(SteeringTest, ItIsUndoneOnceTheLastFaultOfTheHostIsOver) {
  Watcher watcher(policy(kUndo), true);
  watcher.look({alarm(1, "h1")}, 20);
  watcher.start();
  watcher.end(0);
  EXPECT_THAT(watcher.look({alarm(1, "h1"), alarm(2, "h1", 20)}, 30),
              ElementsAre("already h1: it is in effect at h1"));
  watcher.look({alarm(2, "h1", 20)}, 40);
  EXPECT_FALSE(watcher.steering.task());
  watcher.look({}, 50);
  ASSERT_TRUE(watcher.steering.task());
  EXPECT_TRUE(watcher.steering.task()->base.undo);
}

TEST(SteeringTest, AFlappingFaultIsActedOnOnceInAPause) {
  Watcher watcher(policy(kUndo), false);
  EXPECT_THAT(watcher.look({alarm(1, "h1")}, 20), ElementsAre("would_run h1"));
  EXPECT_THAT(watcher.look({}, 30), ElementsAre("undo would_run h1"));
  EXPECT_THAT(watcher.look({alarm(2, "h1", 31)}, 50).front(), HasSubstr("limits.host_pause"));
  EXPECT_THAT(watcher.look({alarm(2, "h1", 31)}, 3620), ElementsAre("would_run h1"));
}

TEST(SteeringTest, AnActionThatFailedIsTriedAgainLater) {
  Watcher watcher(policy(kRule), true);
  watcher.look({alarm(1, "h1")}, 20);
  watcher.start();
  EXPECT_EQ(watcher.end(3), "failed h1: it ended with 3");
  watcher.look({alarm(1, "h1")}, 619);
  EXPECT_FALSE(watcher.steering.task());
  watcher.look({alarm(1, "h1")}, 620);
  EXPECT_TRUE(watcher.steering.task());
}

TEST(SteeringTest, TheEffectOfAnInterruptedCommandIsUnknown) {
  Watcher watcher(policy(kRule), true);
  watcher.look({alarm(1, "h1")}, 20);
  watcher.start();
  EXPECT_EQ(watcher.end(137, true), "interrupted h1: it took longer than 60 s");
  EXPECT_THAT(watcher.look({alarm(1, "h1")}, 620).front(), HasSubstr("limits.host_pause"));
}

TEST(SteeringTest, AnUndoThatCannotBeLoggedIsTriedAgain) {
  for (const Outcome outcome : {Outcome::kRefused, Outcome::kNotTested, Outcome::kInterrupted}) {
    Watcher watcher(policy(kUndo), true);
    watcher.look({alarm(1, "h1")}, 20);
    watcher.start();
    watcher.end(0);
    watcher.look({}, 30);
    ASSERT_TRUE(watcher.steering.task());
    watcher.steering.drop(outcome, "the audit log cannot be written", watcher.at());
    watcher.look({}, 30 + 599);
    EXPECT_FALSE(watcher.steering.task());
    watcher.look({}, 30 + 600);
    ASSERT_TRUE(watcher.steering.task());
    EXPECT_TRUE(watcher.steering.task()->base.undo);
  }
}

TEST(SteeringTest, AnUndoThatASchedulerObjectsToIsNotTriedAgain) {
  Watcher watcher(
      policy("[[rule]]\nname = \"d\"\nconfirm = []\naction = \"slurm_drain\"\nundo = true\n"),
      true);
  watcher.look({alarm(1, "h1")}, 40);
  watcher.start();
  watcher.end(0);
  watcher.look({}, 50);
  ASSERT_TRUE(watcher.steering.task());
  const auto ended = watcher.steering.asked(
      {.output = "NodeName=h1 State=IDLE+DRAIN Reason=bad fan\n"}, watcher.at());
  EXPECT_EQ(ended->outcome, Outcome::kRefused);
  watcher.look({}, 5000);
  EXPECT_FALSE(watcher.steering.task());
}

TEST(SteeringTest, AJobInAFolderOfTheSameNameIsAnotherOne) {
  Watcher first(policy(kUndo), JobName{"job", "/a/job"});
  first.look({alarm(1, "h1")}, 20);
  const Decision started = first.steering.start(first.at());
  const Decision done = first.steering.ended({}, first.at());
  EXPECT_EQ(done.job_id, "/a/job@1970-01-12T13:46:40Z");
  Watcher second(policy(kUndo), JobName{"job", "/b/job"});
  second.steering.learn(started);
  second.steering.learn(done);
  EXPECT_THAT(second.look({alarm(1, "h1")}, 30),
              ElementsAre("already h1: it is in effect at h1, for job job"));
  second.look({}, 40);
  EXPECT_FALSE(second.steering.task());  // what it did not do it does not undo
}

TEST(SteeringTest, FaultsOfJobsAreOfTheirOwnJob) {
  const std::string rule =
      "[[rule]]\nname = \"j\"\nplace = [\"job\"]\nconfirm = []\naction = \"command\"\n"
      "command = [\"act\"]\n";
  monitor::Alarm fault = alarm(1, "");
  fault.verdict.place = {PlaceKind::kJob, {}, ""};
  Watcher watcher(policy(rule), JobName{"job", "/a/job"});
  watcher.look({fault}, 40);
  ASSERT_TRUE(watcher.steering.task());
  EXPECT_EQ(watcher.steering.task()->base.target, "job /a/job@1970-01-12T13:46:40Z");
}

TEST(SteeringTest, APeerIsOneOfTheHostsOfThePolicy) {
  Watcher watcher(policy(kTested, "hosts = [\"h2\", \"h3\"]\n"), true);
  watcher.look({alarm(1, "h2")}, 20);
  ASSERT_TRUE(watcher.steering.task());
  EXPECT_THAT(watcher.steering.task()->test, ElementsAre("test", "h2", "h3"));  // and not h1
}

TEST(SteeringTest, RecordedTimesMakeNoFaultOld) {
  Watcher watcher(policy(kRule), false);
  const monitor::Alarm old = alarm(1, "h1", -1'000'000);
  const Look look{{old}, {"h1"}, seconds(7), kBegin, kBegin - 1'000'000 * kS};
  EXPECT_TRUE(watcher.steering.look(look).empty());
  Look later = look;
  later.now = seconds(16);
  EXPECT_TRUE(watcher.steering.look(later).empty());
  later.now = seconds(17);
  ASSERT_EQ(watcher.steering.look(later).size(), 1u);
}

TEST(SteeringTest, AnEffectThatIsThereIsLookedAtAgainAfterThePause) {
  Watcher watcher(policy("[[rule]]\nname = \"d\"\nconfirm = []\naction = \"slurm_drain\"\n"), true);
  watcher.look({alarm(1, "h1")}, 40);
  const auto ended = watcher.steering.asked(
      {.output = "NodeName=h1 State=IDLE+DRAIN Reason=bad fan\n"}, watcher.at());
  EXPECT_EQ(ended->outcome, Outcome::kAlready);
  watcher.look({alarm(1, "h1")}, 40 + 3599);
  EXPECT_FALSE(watcher.steering.task());
  watcher.look({alarm(1, "h1")}, 40 + 3600);
  EXPECT_TRUE(watcher.steering.task());
}

TEST(SteeringTest, ATestThatCannotStartIsNoFailureOfAnAction) {
  Watcher first(policy(kTested), true, "one");
  first.look({alarm(1, "h1")}, 20);
  const Decision started = first.steering.start(first.at());
  Watcher second(policy(kTested), true, "two");
  second.look({alarm(1, "h1")}, 20);
  second.steering.learn(started);
  second.steering.drop(Outcome::kNotTested, "no process", second.at());
  second.steering.learn(first.steering.ended({}, first.at()));
  EXPECT_THAT(second.look({alarm(1, "h1")}, 20 + 600).front(),
              HasSubstr("already h1: it is in effect at h1, for job one"));
}

TEST(SteeringTest, NamesThatAreNoHostsGetNoCommand) {
  for (const char* const name : {"-h1", "h1;reboot", "h 1", ""}) {
    Watcher watcher(policy(kRule, kMany), true);
    EXPECT_THAT(watcher.look({alarm(1, name)}, 20),
                ElementsAre("refused unknown: the recording has no valid name of the host"));
    EXPECT_FALSE(watcher.steering.task());
    watcher.look({}, 21);
  }
}

TEST(SteeringTest, ARefusalIsLoggedOnceAnHourForeverNewAlarms) {
  Watcher watcher(policy(kRule, "hosts = [\"x*\"]\n"), true);
  EXPECT_EQ(watcher.look({alarm(1, "h1")}, 20).size(), 1u);
  watcher.look({}, 30);
  EXPECT_THAT(watcher.look({alarm(2, "h1"), alarm(3, "h1")}, 40), ElementsAre());
  EXPECT_EQ(watcher.look({alarm(4, "h2")}, 60).size(), 1u);  // another target
  watcher.look({}, 3610);
  EXPECT_EQ(watcher.look({alarm(5, "h1")}, 3620).size(), 1u);
  size_t logged = 0;
  for (uint64_t i = 6; i < 3000; ++i) {
    logged += watcher.look({alarm(i, "n" + std::to_string(i))}, 3630).size();
  }
  EXPECT_EQ(logged, 998u);
}

TEST(SteeringTest, OnlyHostsOfThePolicyAreActedAt) {
  Watcher watcher(policy(kRule, "hosts = [\"h[1-2]\"]\nhost_names = \"short\"\n"), false);
  EXPECT_THAT(watcher.look({alarm(1, "h3.example.com")}, 20),
              ElementsAre("refused h3: the policy's 'hosts' do not name h3"));
  EXPECT_THAT(watcher.look({alarm(2, "h2.example.com")}, 20), ElementsAre("would_run h2"));
}

TEST(SteeringTest, ALinkHasTwoHosts) {
  const std::string rule =
      "[[rule]]\nname = \"l\"\nconfirm = []\naction = \"command\"\n"
      "command = [\"act\", \"{from}\", \"{to}\"]\n";
  monitor::Alarm link = alarm(1, "");
  link.verdict.place = {PlaceKind::kLink, {0, 1}, ""};
  link.hosts = {"h1", "h2"};
  Watcher watcher(policy(rule), true);
  watcher.look({link}, 40);
  ASSERT_TRUE(watcher.steering.task());
  EXPECT_EQ(watcher.steering.task()->base.target, "h1>h2");
  EXPECT_THAT(watcher.steering.task()->command, ElementsAre("act", "h1", "h2"));
}

TEST(SteeringTest, ANodeThatAnOperatorDrainedIsLeftAsItIs) {
  const std::string rule =
      "[[rule]]\nname = \"d\"\nconfirm = []\naction = \"slurm_drain\"\nundo = true\n";
  Watcher watcher(policy(rule), true);
  watcher.look({alarm(1, "h1")}, 40);
  ASSERT_TRUE(watcher.steering.task());
  const auto ended = watcher.steering.asked(
      {.output = "NodeName=h1 State=IDLE+DRAIN Reason=bad fan [root@now]\n"}, watcher.at());
  ASSERT_TRUE(ended);
  EXPECT_EQ(Watcher::text(*ended), "already h1: it is drained: bad fan [root@now]");
  watcher.look({}, 50);
  EXPECT_FALSE(watcher.steering.task());  // nothing to undo
  watcher.look({alarm(2, "h1", 60)}, 5000);
  const auto silent =
      watcher.steering.asked({.exit_status = 1, .last_error = "no controller"}, watcher.at());
  EXPECT_THAT(Watcher::text(*silent), HasSubstr("not_tested h1: the scheduler does not answer"));
}

}  // namespace
}  // namespace heddle::steering
