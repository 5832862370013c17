// The row of one collective, and its size.
#include "acceptance/stages/one_collective.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "acceptance/params.h"
#include "acceptance/stages/stages.h"
#include "acceptance/testing/scripted_fabric.h"

namespace heddle::acceptance {
namespace {

Grade grade(double reached, double least) { return reached < least ? Grade::kFail : Grade::kOk; }

OneCollective measured(double bus_bits_per_s, uint64_t wrong) {
  OneCollective made;
  made.sizes.push_back({.bytes = 4 << 20, .time_us = 250'000, .bus_bits_per_s = bus_bits_per_s});
  made.sizes.back().wrong = wrong;
  return made;
}

TEST(OneCollective, ACallOfItsSizeTakesAtMostTheTimeOfACallAtTheBound) {
  EXPECT_EQ(size_for(150e6), 4U << 20);
  EXPECT_EQ(size_for(1e15), params::kMostLargest.count);
  EXPECT_EQ(size_for(1), params::kSmallest.count);
  EXPECT_EQ(size_for(0), params::kLargestUnbounded.count);
}

TEST(OneCollective, CallsOfAMinuteAreCountedOnBothSides) {
  BenchSize size{.time_us = 200'000};
  EXPECT_EQ(calls_in(seconds(60), size), 300U);
  size.in_place = BenchTimes{.time_us = 100'000, .wrong = {}};
  EXPECT_EQ(calls_in(seconds(60), size), 200U);
  EXPECT_EQ(calls_in(seconds(60), {.time_us = 60e6}), params::kCollectiveCalls) << "at least those";
  EXPECT_EQ(calls_in(seconds(60), {.time_us = 1e-3}), params::kMostCollectiveCalls);
  EXPECT_EQ(calls_in(seconds(60), {}), params::kCollectiveCalls) << "its time is not known";
}

// Calls of each `heddle bench alltoall`, whose calls take 100 ms a side.
std::vector<std::string> calls_asked(Depth depth, int wrong) {
  ScriptedFabric fabric(scripted_leaf_spine(1));
  fabric.answer = [wrong](const Asked& asked) {
    Answer answer = healthy_answer(asked);
    if (!asked.is("alltoall")) return answer;
    Json document = Json::parse(answer.output);
    Json& result = document["results"][0];
    result["out_of_place"]["time"] = result["in_place"]["time"] = 100e3;
    result["in_place"]["nwrong"] = wrong;
    return Answer{document.dump()};
  };
  const StageMade made = made_by(
      [](Session& session, StageReport& /*report*/) -> Result<void> {
        const auto found = best_collective(session, "alltoall", {65'536, 65'536}, 1e6);
        EXPECT_TRUE(found && found->sizes.size() == 1);
        return {};
      },
      fabric, {.depth = depth});
  EXPECT_EQ(made.error, "");
  std::vector<std::string> calls;
  for (const std::string& line : made.commands) {
    const size_t at = line.find(" -n ");
    if (at == std::string::npos) continue;
    calls.push_back(line.substr(at + 4, line.find(' ', at + 4) - at - 4));
  }
  return calls;
}

// A full test's documents said 60 s for each measurement; an all-to-all had three calls.
TEST(OneCollective, AFullTestMeasuresItForAMinute) {
  EXPECT_EQ(calls_asked(Depth::kFull, 0), (std::vector<std::string>{"3", "300"}));
  EXPECT_EQ(calls_asked(Depth::kNormal, 0), std::vector<std::string>{"3"});
  EXPECT_EQ(calls_asked(Depth::kQuick, 0), std::vector<std::string>{"3"});
  EXPECT_EQ(calls_asked(Depth::kFull, 1), std::vector<std::string>{"3"}) << "wrong at once";
}

TEST(OneCollective, ItsBusBandwidthIsJudgedByTheBound) {
  const CollectiveBound bound{"all-gather", "4 hosts", 190e6, 95e6, "look"};
  Row row = collective_row(bound, measured(150e6, 0), grade);
  EXPECT_EQ(row.measured, "150 Mb/s bus bandwidth of 4 MiB, 250 ms a call");
  EXPECT_EQ(row.expected, "at least 95.0 Mb/s of 190 Mb/s");
  EXPECT_EQ(row.grade, Grade::kOk);
  row = collective_row(bound, measured(80e6, 0), grade);
  EXPECT_EQ(row.grade, Grade::kFail);
  EXPECT_EQ(row.todo, "look");
  EXPECT_TRUE(is_information(collective_row({"all-gather", "4 hosts"}, measured(1, 0), grade)));
}

TEST(OneCollective, WithoutABoundItsResultsAreWhatIsExpected) {
  OneCollective checked = measured(1, 0);
  checked.sizes.back().wrong_out_of_place = 0;
  EXPECT_EQ(collective_row({"all-gather", "4 hosts"}, checked, grade).expected, "right results");
}

TEST(Collectives, AllReducesThatAreNotTheLargestAreExpectedToBeRight) {
  ScriptedFabric fabric(scripted_leaf_spine(1));
  fabric.answer = [](const Asked& asked) {
    Answer answer = healthy_answer(asked);
    if (!asked.is("allreduce")) return answer;
    Json document = Json::parse(answer.output);
    document["results"].push_back(document["results"][0]);
    document["results"][0]["size"] = 1'024;
    return Answer{document.dump()};
  };
  const StageMade made = made_by(run_collectives, fabric, {.folder = "/nonexistent"});
  ASSERT_EQ(made.rows("all-reduce").size(), 2U);
  EXPECT_EQ(made.row("all-reduce", 0).expected, "right results");
  EXPECT_TRUE(made.row("all-reduce", 1).expected.starts_with("at least "));
}

// For each of 261,632 pairs the routes were found anew, twice a test: minutes.
TEST(OneCollective, TheBoundOfAnAllToAllOfManyHostsIsThatOfTheirUplinks) {
  const ScriptedFabric fabric(scripted_leaf_spine(256));  // each link has 100 Mbit/s
  const AcceptanceOptions options;
  const auto session = Session::open(fabric, options);
  ASSERT_TRUE(session);
  const double flow = 100e6 / (256 * 256 / 2.0);
  EXPECT_NEAR(all_to_all_bound(**session), flow * 511 * (1500 - 68) / 1514, 1);
}

// Sizes that `heddle bench` is asked for, and how they follow.
std::string sizes_asked(Depth depth, uint32_t per_leaf, uint64_t largest) {
  const ScriptedFabric fabric(scripted_leaf_spine(per_leaf));
  const AcceptanceOptions options{.depth = depth};
  const auto session = Session::open(fabric, options);
  if (!session) return "no session";
  const CollectiveSizes sizes = table_sizes(**session, largest);
  return std::to_string(sizes.smallest) + " to " + std::to_string(sizes.largest);
}

TEST(OneCollective, ATableHasThreeSizesAndAQuickTestOne) {
  EXPECT_EQ(sizes_asked(Depth::kNormal, 2, 4 << 20), "16384 to 4194304");
  EXPECT_EQ(sizes_asked(Depth::kFull, 2, 4 << 20), "16384 to 4194304");
  EXPECT_EQ(sizes_asked(Depth::kQuick, 2, 4 << 20), "4194304 to 4194304");
  EXPECT_EQ(sizes_asked(Depth::kNormal, 64, 64 << 10), "4096 to 65536") << "128 hosts have a value";
}

TEST(OneCollective, WrongValuesOfASmallerSizeFailToo) {
  OneCollective made = measured(150e6, 0);
  const BenchSize small{.bytes = 16'384, .wrong = 3};
  made.sizes.insert(made.sizes.begin(), small);
  const Row row = collective_row({"all-gather", "4 hosts", 190e6, 95e6, "look"}, made, grade);
  EXPECT_EQ(row.measured, "3 values are wrong");
  EXPECT_EQ(row.grade, Grade::kFail);
}

// The others had one row each, and no table.
TEST(Collectives, OtherCollectivesHaveTablesOfTheirOwn) {
  ScriptedFabric fabric(scripted_leaf_spine(1));
  const StageMade made = made_by(run_collectives, fabric, {.folder = "/nonexistent"});
  EXPECT_EQ(made.error, "");
  std::vector<std::string> checks;
  for (const Json& each : made.report.data["other_sizes"]) {
    checks.push_back(each.at("check").get<std::string>());
    EXPECT_EQ(each.at("sizes").at(0).at("count"), 16'384);
    EXPECT_GT(each.at("sizes").at(0).at("bound_bits_per_s").get<double>(), 0);
  }
  EXPECT_EQ(checks, (std::vector<std::string>{"reduce-scatter", "all-gather", "all-to-all"}));
  size_t tables = 0;
  for (const std::string& line : made.commands) tables += line.find(" -f 16 ") != std::string::npos;
  EXPECT_EQ(tables, 3U);
  EXPECT_EQ(made.report.data["others"].size(), 3U) << "one size each, which baselines read";
}

TEST(OneCollective, WrongValuesAndNoResultsFail) {
  const CollectiveBound bound{"all-gather", "4 hosts", 190e6, 95e6, "look"};
  Row row = collective_row(bound, measured(150e6, 2), grade);
  EXPECT_EQ(row.measured, "2 values are wrong");
  EXPECT_EQ(row.grade, Grade::kFail);
  row = collective_row(bound, {.complaint = "no route to h1"}, grade);
  EXPECT_EQ(row.measured, "no route to h1");
  EXPECT_EQ(row.grade, Grade::kFail);
}

}  // namespace
}  // namespace heddle::acceptance
