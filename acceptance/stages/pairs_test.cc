// Stage pairs: thresholds, the places that are named, and how long each measurement takes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "acceptance/expectations.h"
#include "acceptance/stages/stages.h"
#include "acceptance/testing/scripted_fabric.h"

namespace heddle::acceptance {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// Of a pair of scripted_leaf_spine(1) the links carry 94.6 Mbit/s of payload.
constexpr double kCarried = 100e6 * (1500 - 68) / 1514;

Answer goodput(double bits_per_s) {
  Answer answer = healthy_answer({"h0", {"perf", "h1", "bw"}});
  Json document = Json::parse(answer.output);
  document["tests"][0]["server"]["received"]["goodput_gbits_per_s"] = bits_per_s / 1e9;
  return {document.dump()};
}

// All pairs reach `share` of what the links carry.
StageMade at_share(double share, const std::string& expectations) {
  ScriptedFabric fabric(scripted_leaf_spine(1));
  fabric.answer = [share](const Asked& asked) {
    return asked.is("bw") ? goodput(kCarried * share) : healthy_answer(asked);
  };
  AcceptanceOptions options;
  const auto read = parse_expectations("version = 1\n" + expectations, "expect.toml");
  EXPECT_TRUE(read) << read.error().message();
  if (read) options.expectations = *read;
  return made_by(run_pairs, fabric, options);
}

// The grade of the first row of goodput.
Grade grade_at(double share, const std::string& expectations) {
  const StageMade made = at_share(share, expectations);
  return made.rows("goodput").empty() ? Grade::kFail : made.row("goodput").grade;
}

TEST(Pairs, AThresholdChangesTheVerdict) {
  EXPECT_EQ(grade_at(0.71, ""), Grade::kOk);
  EXPECT_EQ(grade_at(0.69, ""), Grade::kWarn);
  EXPECT_EQ(grade_at(0.51, ""), Grade::kFail);
  EXPECT_EQ(grade_at(0.51, "pair_share = \"50%\"\n"), Grade::kOk);
  EXPECT_EQ(grade_at(0.71, "pair_share = \"99.9%\"\n"), Grade::kFail);
  EXPECT_EQ(grade_at(0.95, "pair_share = \"99.9%\"\n"), Grade::kWarn);
  const StageMade made = at_share(0.71, "pair_share = \"99.9%\"\n");
  EXPECT_EQ(made.row("goodput").expected, "at least 94.5 Mb/s");
  EXPECT_EQ(made.row("goodput").measured, "67.2 Mb/s, 71% of what the links carry");
}

TEST(Pairs, AFigureBelowItsExpectationIsMeasuredUpToThreeTimes) {
  const auto bandwidths = [](const StageMade& made) {
    return std::count_if(made.commands.begin(), made.commands.end(), [](const std::string& line) {
      return line.find(" bw ") != std::string::npos;
    });
  };
  EXPECT_EQ(bandwidths(at_share(0.71, "")), 2);
  EXPECT_EQ(bandwidths(at_share(0.51, "")), 6);
}

TEST(Pairs, AHostThatIsSlowToAndFromAllOthersIsNamed) {
  ScriptedFabric fabric(scripted_leaf_spine(2));
  fabric.answer = [](const Asked& asked) {
    const bool slow = asked.host == "h2" || asked.after("perf") == "h2";
    return asked.is("bw") && slow ? goodput(20e6) : healthy_answer(asked);
  };
  const StageMade made = made_by(run_pairs, fabric);
  const std::vector<Row> rows = made.rows("goodput");
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].where, "h2");
  EXPECT_EQ(rows[0].grade, Grade::kFail);
  EXPECT_THAT(rows[0].todo, HasSubstr("h2's port speed"));
  EXPECT_EQ(rows.back().where, "6 of 12 pairs");
  EXPECT_EQ(rows.back().grade, Grade::kOk);
}

TEST(Pairs, ASlowPairIsNamedAndNoHost) {
  ScriptedFabric fabric(scripted_leaf_spine(2));
  fabric.answer = [](const Asked& asked) {
    const bool slow = asked.host == "h0" && asked.after("perf") == "h3";
    return asked.is("bw") && slow ? goodput(20e6) : healthy_answer(asked);
  };
  const std::vector<Row> rows = made_by(run_pairs, fabric).rows("goodput");
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].where, "h0 to h3");
  EXPECT_EQ(rows[0].grade, Grade::kFail);
  EXPECT_EQ(rows[1].where, "11 of 12 pairs");
}

// "bw 60000ms", "socket-test 60000ms 60000ms 60000ms": the times of each measurement.
std::set<std::string> times_of(const StageMade& made) {
  std::set<std::string> found;
  for (const std::string& line : made.commands) {
    std::istringstream words(line);
    std::string text;
    bool serves = false;
    for (std::string word; words >> word;) {
      serves = serves || word.ends_with("-serve");
      const bool test = word == "bw" || word == "lat" || word.ends_with("-test");
      if (test || word.ends_with("ms")) text += (text.empty() ? "" : " ") + word;
    }
    if (!text.empty() && !serves) found.insert(text);
  }
  return found;
}

// Latencies took 12 and 6 s.
TEST(Pairs, EachMeasurementTakesAMinuteInAFullTest) {
  ScriptedFabric fabric(scripted_leaf_spine(1));
  fabric.has_rdma = true;
  const auto times = [&](Depth depth) {
    return times_of(made_by(run_pairs, fabric, {.depth = depth}));
  };
  EXPECT_THAT(times(Depth::kFull), UnorderedElementsAre("bw 60000ms", "lat 60000ms",
                                                        "socket-test 60000ms 60000ms 60000ms",
                                                        "rdma-test 60000ms 60000ms"));
  EXPECT_THAT(times(Depth::kNormal),
              UnorderedElementsAre("bw 2000ms", "lat 400ms", "socket-test 200ms 1000ms 500ms",
                                   "rdma-test 200ms 1000ms"));
  EXPECT_THAT(times(Depth::kQuick),
              UnorderedElementsAre("bw 1000ms", "lat 200ms", "socket-test 100ms 500ms 250ms",
                                   "rdma-test 100ms 500ms"));
}

}  // namespace
}  // namespace heddle::acceptance
