// Advice on jobs whose best change is known by construction: what crosses a slow spine, what is
// hidden, and what the hosts' own links bind.
#include "apps/cli/plan/advise/advised.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/testing/sanitized.h"
#include "topology/generators.h"

namespace heddle::cli {
namespace {

using planner::ChangeKind;
using planner::NoAdvantage;
using topology::Action;
using topology::ActionKind;

constexpr uint32_t kRanks = 8;
// Of the jobs whose gains are simulated.
constexpr uint64_t kReducedBytes = kSanitized ? 500'000 : 2'000'000;
constexpr uint64_t kReorderedBytes = kSanitized ? 1'000'000 : 2'000'000;

// Two leaves of four hosts at 10 Gb/s; `spine_gbits` from each leaf to each spine.
topology::Topology fabric(uint32_t spines, uint64_t spine_gbits) {
  topology::LeafSpineShape shape{.leaves = 2, .spines = spines, .hosts_per_leaf = 4};
  shape.host_link.rate = gigabits_per_s(10);
  shape.spine_link.rate = gigabits_per_s(spine_gbits);
  return topology::leaf_spine(shape);
}

// A ring all-reduce after a computation; `hides`: beside it.
RecordedSetting recorded(topology::Topology topology, std::vector<uint32_t> hosts, uint64_t bytes,
                         Nanos computes, bool hides) {
  RecordedSetting setting;
  setting.topology = std::move(topology);
  setting.hosts = std::move(hosts);
  topology::Job job;
  job.name = "recorded";
  job.kind = "program";
  topology::Program program;
  program.labels = {"c0"};
  const Action computation{.kind = ActionKind::kCompute, .span = computes};
  Action reduction{.kind = ActionKind::kCall,
                   .call = topology::CallKind::kAllReduce,
                   .algorithm = topology::AlgorithmChoice{topology::CallAlgorithm::kRing},
                   .element_bytes = 4,
                   .bytes = bytes};
  if (hides) reduction.label = 0;
  program.actions =
      hides ? std::vector<Action>{reduction, computation, {.kind = ActionKind::kWait, .label = 0}}
            : std::vector<Action>{computation, reduction};
  job.programs.push_back(program);
  job.communicators.push_back({"all", {}});
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    job.communicators.front().ranks.push_back(rank);
    job.ranks.push_back({.host = setting.hosts[rank], .program = 0, .communicators = {0}});
  }
  for (int step = 0; step < 4; ++step) {
    setting.steps.jobs.push_back(job);
    setting.steps.took.push_back(millis(10));
  }
  return setting;
}

AdviseQuestion question() {
  AdviseQuestion asked;
  asked.seeds = 2;
  return asked;
}

const AdvisedChange* first_of(const Advised& advised, ChangeKind kind) {
  for (const AdvisedChange& change : advised.changes) {
    if (change.candidate.kind == kind) return &change;
  }
  return nullptr;
}

TEST(Advised, ARingThatCrossesTheSpineAtEachHopIsReordered) {
  // Each leaf's one uplink carries four hops of the ring, and one in the order of leaves.
  const RecordedSetting setting =
      recorded(fabric(1, 10), {0, 4, 1, 5, 2, 6, 3, 7}, kReorderedBytes, {}, false);
  const Result<Advised> advised = advise(setting, question());
  ASSERT_TRUE(advised.has_value()) << advised.error().why;
  ASSERT_FALSE(advised->changes.empty());
  const AdvisedChange* const order = first_of(*advised, ChangeKind::kRankOrder);
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->why, NoAdvantage::kGains);
  EXPECT_NEAR(order->gain.mean, 0.75, 0.08);
  EXPECT_THAT(order->candidate.todo, testing::HasSubstr("heddle run --hosts "));
}

TEST(Advised, HiddenCommunicationGainsNothing) {
  const RecordedSetting setting =
      recorded(fabric(2, 40), {0, 4, 1, 5, 2, 6, 3, 7}, 500'000, millis(20), true);
  const Result<Advised> advised = advise(setting, question());
  ASSERT_TRUE(advised.has_value()) << advised.error().why;
  for (const AdvisedChange& change : advised->changes) {
    EXPECT_EQ(change.why, NoAdvantage::kHidden) << change.candidate.name;
  }
}

TEST(Advised, NoPlanHelpsAJobThatItsHostsLinksBind) {
  const RecordedSetting setting =
      recorded(fabric(4, 100), {0, 1, 2, 3, 4, 5, 6, 7}, kReducedBytes, {}, false);
  const Result<Advised> advised = advise(setting, question());
  ASSERT_TRUE(advised.has_value()) << advised.error().why;
  const AdvisedChange* const plan = first_of(*advised, ChangeKind::kPathPlan);
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->why, NoAdvantage::kHostLinks);
  EXPECT_NEAR(plan->gain.mean, 0, 0.03);
}

TEST(Advised, APlanHelpsARingWhoseHopsShareUplinks) {
  // Four uplinks of a leaf for the four hops that leave it; on one path each, some share one.
  AdviseQuestion one_path = question();
  one_path.transport.paths = 1;
  const RecordedSetting setting =
      recorded(fabric(4, 10), {0, 4, 1, 5, 2, 6, 3, 7}, kReducedBytes, {}, false);
  const Result<Advised> advised = advise(setting, one_path);
  ASSERT_TRUE(advised.has_value()) << advised.error().why;
  const AdvisedChange* const plan = first_of(*advised, ChangeKind::kPathPlan);
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->step_s.size(), 2U);
  EXPECT_GT(plan->gain.mean, 0.2);
  // Most of it comes with the paths, which are a change of their own.
  const auto same = std::find_if(advised->changes.begin(), advised->changes.end(),
                                 [plan](const AdvisedChange& change) {
                                   return change.candidate.kind == ChangeKind::kPaths &&
                                          change.candidate.paths == plan->candidate.paths;
                                 });
  ASSERT_NE(same, advised->changes.end());
  EXPECT_EQ(plan->candidate.note,
            fmt::format("64 paths gain {:.1f}% without a plan", 100 * same->gain.mean));
}

// Its ranks had no path on most planned routes, ran adaptively, and counted as planned.
TEST(Advised, APlanThatDoesNotFitIsNoGainOfPlannedPaths) {
  // A flow needs ten of 64 slow uplinks: of these a rank's 64 paths take two thirds.
  AdviseQuestion one_path = question();
  one_path.transport.paths = 1;
  const RecordedSetting setting =
      recorded(fabric(64, 1), {0, 4, 1, 5, 2, 6, 3, 7}, 1'000'000, {}, false);
  const Result<Advised> advised = advise(setting, one_path);
  ASSERT_TRUE(advised.has_value()) << advised.error().why;
  const AdvisedChange* const plan = first_of(*advised, ChangeKind::kPathPlan);
  ASSERT_NE(plan, nullptr);
  EXPECT_GT(plan->gain.mean, 0.2) << "adaptively";
  EXPECT_GT(plan->misfits, 0.5);
  EXPECT_EQ(plan->why, NoAdvantage::kUncertain);
  EXPECT_THAT(plan->reason, testing::HasSubstr("have no path on its routes"));
}

TEST(Advised, ASimulationThatIsFarFromTheRecordingIsNoEvidence) {
  RecordedSetting setting =
      recorded(fabric(2, 40), {0, 1, 2, 3, 4, 5, 6, 7}, 1'000'000, millis(1), false);
  const Result<Advised> off = advise(setting, question());
  ASSERT_TRUE(off.has_value()) << off.error().why;
  EXPECT_FALSE(off->enough_evidence());
  for (Nanos& took : setting.steps.took) {
    took = nanos(static_cast<int64_t>(off->facts.step_s * 1e9));
  }
  const Result<Advised> near = advise(setting, question());
  ASSERT_TRUE(near.has_value());
  EXPECT_TRUE(near->enough_evidence());
}

TEST(Advised, OtherSplitsNeedAModel) {
  const RecordedSetting setting =
      recorded(fabric(2, 40), {0, 1, 2, 3, 4, 5, 6, 7}, 1'000'000, millis(1), false);
  AdviseQuestion asked = question();
  const Result<Advised> without = advise(setting, asked);
  ASSERT_TRUE(without.has_value());
  EXPECT_EQ(first_of(*without, ChangeKind::kParallelism), nullptr);
  asked.model.model = "no-such-model";
  EXPECT_FALSE(advise(setting, asked).has_value());
  asked.model.model = "llama-3-8b";
  const Result<Advised> with = advise(setting, asked);
  ASSERT_TRUE(with.has_value()) << with.error().why;
  const AdvisedChange* const split = first_of(*with, ChangeKind::kParallelism);
  ASSERT_NE(split, nullptr);
  EXPECT_GT(split->gain.mean, 0);
}

}  // namespace
}  // namespace heddle::cli
