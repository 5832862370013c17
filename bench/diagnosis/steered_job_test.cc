// What policies do about true and false verdicts, and what a simulated active test sees: the parts
// of bench/run diagnosis steering.
#include "bench/diagnosis/steered_job.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "bench/diagnosis/stream.h"
#include "monitor/params.h"

namespace heddle::bench {
namespace {

// Seeds of their own, apart from those of bench/run.
constexpr uint64_t kFirst = 2'000'000'001;
constexpr double kAfterS = 60;
constexpr int64_t kLater = 5'000'000'000;  // after a fault's onset, ns

SteeredOptions options(const std::string& persists, bool tested, double wrong = 0) {
  SteeredOptions made;
  made.policy = *steering::parse_policy(
      "version = 1\n[[rule]]\nname = \"host\"\nclass = [\"non_communication_hang\", "
      "\"communication_hang\", \"non_communication_slow\", \"communication_slow\"]\n"
      "place = [\"rank\", \"nic\"]\nconfidence = 0\naction = \"slurm_drain\"\npersists = \"" +
          persists + "\"\nconfirm = " +
          (tested ? "[\"probe\", \"compute\", \"{host}\", \"{peer}\"]" : "[]") + "\n",
      "policy.toml");
  made.test.wrong = wrong;
  return made;
}

class Steered {
 public:
  explicit Steered(const FaultCase& drawn)
      : job(lengthened(drawn, kAfterS)), observed(make_stream(job)), watched(watch(observed)) {}

  void add(const FalseVerdicts& wanted) {
    watched = with_false_verdicts(std::move(watched), job, wanted);
  }
  SteeredOutcome with(const SteeredOptions& options) const {
    return SteeredJob(job, observed, watched, options).run();
  }
  std::string host() const { return "h" + std::to_string(job.host_of(job.truth.rank)); }
  std::string other_host() const { return job.host_of(job.truth.rank) == 0 ? "h1" : "h0"; }
  int test(const std::string& what) const {
    SimulatedProbe test(job, observed, {});
    return test.run({"probe", what, host(), other_host()}, observed.onset_ns + kLater)
        .result.exit_status;
  }

  const FaultCase job;
  const ObservedJob observed;
  WatchedJob watched;
};

FaultCase drawn(Fault fault, uint64_t seed = kFirst) {
  FaultCase job = draw_case(seed, fault, Source::kStream);
  job.ranks = 4;
  job.ranks_per_host = 1;
  job.truth.rank = 2;
  job.noise = {};
  return job;
}

TEST(SteeredJobTest, ALastingFalseVerdictIsActedOnUnlessATestRefusesIt) {
  Steered job(drawn(Fault::kNone));
  job.add({.an_hour = 100, .least_s = 50});
  ASSERT_GT(job.watched.false_verdicts, 0U);
  const SteeredOutcome untested = job.with(options("20s", false));
  ASSERT_FALSE(untested.actions.empty());
  EXPECT_FALSE(untested.actions[0].right);
  EXPECT_TRUE(untested.actions[0].invented);
  const SteeredOutcome tested = job.with(options("20s", true));
  EXPECT_TRUE(tested.actions.empty());
  EXPECT_GT(tested.not_confirmed, 0U);
  EXPECT_FALSE(job.with(options("20s", true, 1)).actions.empty());
}

TEST(SteeredJobTest, ABriefFalseVerdictIsActedOnAtOnceAlone) {
  Steered job(drawn(Fault::kNone));
  job.add({.an_hour = 400, .least_s = 8, .most_s = 12});
  EXPECT_TRUE(job.with(options("20s", false)).actions.empty());
  SteeredOptions at_once = options("0s", false);
  EXPECT_FALSE(job.with(at_once).actions.empty());
  at_once.each_verdict = true;
  const SteeredOutcome each_verdict = job.with(at_once);
  ASSERT_FALSE(each_verdict.actions.empty());
  EXPECT_LT(each_verdict.actions[0].at_s, job.with(at_once).actions[0].at_s + 1);
}

TEST(SteeredJobTest, AnAlarmComesLaterThanItsVerdict) {
  const Steered job(drawn(Fault::kStoppedRank));
  SteeredOptions at_once = options("0s", false);
  const SteeredOutcome alarm = job.with(at_once);
  at_once.each_verdict = true;
  const SteeredOutcome verdict = job.with(at_once);
  ASSERT_EQ(alarm.actions.size(), 1U);
  ASSERT_EQ(verdict.actions.size(), 1U);
  EXPECT_EQ(verdict.actions[0].target, job.host());
  EXPECT_TRUE(verdict.actions[0].right);
  EXPECT_NEAR(alarm.actions[0].at_s - verdict.actions[0].at_s, monitor::params::kLooksToRaise - 1,
              1e-6);
}

TEST(SteeredJobTest, AHangIsConfirmedWhereItsHostHangs) {
  const Steered job(drawn(Fault::kStoppedRank));
  SteeredOptions tested = options("10s", true);
  const SteeredOutcome seen = job.with(tested);
  ASSERT_EQ(seen.actions.size(), 1U);
  EXPECT_TRUE(seen.actions[0].right);
  EXPECT_EQ(seen.confirmed, 1U);
  EXPECT_GT(seen.actions[0].after_s, 30);  // 10 s, and a test that ends at its limit
  tested.test.sees_hangs = 0;
  const SteeredOutcome unseen = job.with(tested);
  EXPECT_TRUE(unseen.actions.empty());
  EXPECT_EQ(unseen.not_confirmed, 1U);
  EXPECT_TRUE(job.with(options("10s", true, 1)).actions.empty());
}

TEST(SteeredJobTest, NoHostIsTheRightOneWhereALinkHasTheFault) {
  FaultCase slow = drawn(Fault::kSlowLink);
  slow.truth.peer = 3;
  Steered job(slow);
  job.add({.an_hour = 400, .least_s = 50});
  for (const SteeredAction& each : job.with(options("0s", false)).actions) {
    EXPECT_FALSE(each.right) << each.target;  // a drained host; the link has the fault
  }
}

TEST(SimulatedProbeTest, AComputationShowsARankThatIsSlowEnough) {
  FaultCase slow = drawn(Fault::kSlowRank);
  slow.truth.severity = 2;
  EXPECT_EQ(Steered(slow).test("compute"), 0);
  EXPECT_EQ(Steered(slow).test("network"), 1);
  slow.truth.severity = 1.1;  // of 1.3
  EXPECT_EQ(Steered(slow).test("compute"), 1);
}

TEST(SimulatedProbeTest, ATransferShowsANicThatReceivesSlowly) {
  FaultCase slow = drawn(Fault::kSlowNic);
  slow.truth.severity = 0.2;
  for (const auto& [side, status] : {std::pair(NicSide::kReceiving, 0), {NicSide::kSending, 1}}) {
    slow.truth.side = side;
    EXPECT_EQ(Steered(slow).test("network"), status);
    EXPECT_EQ(Steered(slow).test("compute"), 1);
  }
}

TEST(SimulatedProbeTest, ALinkIsMeasuredInItsDirection) {
  FaultCase slow = drawn(Fault::kSlowLink);
  slow.truth.severity = 0.5;
  slow.truth.peer = 3;
  const Steered job(slow);
  SimulatedProbe test(job.job, job.observed, {});
  const int64_t onset = job.observed.onset_ns;
  EXPECT_EQ(test.run({"probe", "link", "h2", "h3"}, onset + kLater).result.exit_status, 0);
  EXPECT_EQ(test.run({"probe", "link", "h3", "h2"}, onset + kLater).result.exit_status, 1);
  EXPECT_EQ(test.run({"probe", "link", "h2", "h3"}, onset - 1'000'000'000).result.exit_status, 1);
}

TEST(SimulatedProbeTest, APeerThatDoesNotEndIsNoEvidence) {
  const Steered job(drawn(Fault::kStoppedRank));
  SimulatedProbe test(job.job, job.observed, {});
  const SimulatedProbe::Run run =
      test.run({"probe", "compute", job.other_host(), job.host()}, job.observed.onset_ns + kLater);
  EXPECT_EQ(run.result.exit_status, 2);
  EXPECT_GE(run.took_ns, 20'000'000'000);
}

}  // namespace
}  // namespace heddle::bench
