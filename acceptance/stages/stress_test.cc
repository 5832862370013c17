// Stage stress: how long its measurements take, and the bystander of the incast over TCP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "acceptance/stages/stages.h"
#include "acceptance/testing/scripted_fabric.h"

namespace heddle::acceptance {
namespace {

using testing::UnorderedElementsAre;

// "lat 400ms", "streams-send 1000ms": what begins each measurement, and its first time.
std::set<std::string> times_of(const StageMade& made) {
  std::set<std::string> found;
  for (const std::string& line : made.commands) {
    std::istringstream words(line);
    std::string test;
    for (std::string word; words >> word;) {
      if (word == "bw" || word == "lat" || word == "streams-send" || word == "socket-test") {
        test = word;
      } else if (!test.empty() && word.ends_with("ms")) {
        found.insert(test + " " + word);
        test.clear();
      }
    }
  }
  return found;
}

// The latency before the incast took 12 s, that beside it 30 s.
TEST(Stress, EachMeasurementTakesAMinuteInAFullTest) {
  const ScriptedFabric fabric(scripted_leaf_spine(2));
  const auto times = [&](Depth depth) {
    return times_of(made_by(run_stress, fabric, {.depth = depth}));
  };
  EXPECT_THAT(times(Depth::kFull),
              UnorderedElementsAre("bw 60000ms", "lat 60000ms", "streams-send 60000ms",
                                   "socket-test 60000ms"));
  EXPECT_THAT(times(Depth::kNormal),
              UnorderedElementsAre("bw 2000ms", "lat 400ms", "lat 1000ms", "streams-send 1000ms",
                                   "socket-test 500ms"));
}

// The stage had TCP's rates alone.
TEST(Stress, TheLatencyBesideTheIncastIsMeasuredOverTcpToo) {
  const ScriptedFabric fabric(scripted_leaf_spine(2));
  const StageMade made = made_by(run_stress, fabric);
  const Row row = made.row("latency beside it over TCP");
  EXPECT_EQ(row.where, made.row("latency beside it").where);
  EXPECT_EQ(row.measured, "25.0 us at p99; heddle 12.0 us");
  EXPECT_TRUE(is_information(row));
  EXPECT_EQ(made.report.data.at("incast").at("bystander_tcp_us_p99"), 25);
  size_t tests = 0;
  for (const std::string& line : made.commands) {
    if (line.find("socket-test") == std::string::npos) continue;
    ++tests;
    EXPECT_NE(line.find("h3: "), std::string::npos) << line;
    EXPECT_NE(line.find("socket-test 10.0.0.1 18702 500ms 0ms 0ms"), std::string::npos) << line;
  }
  EXPECT_EQ(tests, 1U) << "beside the incast alone";
}

// The page showed TCP beside the permutation alone.
TEST(Stress, AnAllToAllHasTcpsFiguresForTheCharts) {
  ScriptedFabric fabric(scripted_leaf_spine(1));
  fabric.answer = [](const Asked& asked) -> Answer {
    if (asked.is("streams-send")) return {""};
    if (!asked.is("streams-receive")) return healthy_answer(asked);
    return {asked.host == "h0" ? R"({"bits_per_s": [8e6]})" : R"({"bits_per_s": [2e6]})"};
  };
  const StageMade made = made_by(run_stress, fabric);
  EXPECT_EQ(made.error, "");
  const Json& data = made.report.data.at("all_to_all");
  EXPECT_EQ(data.at("tcp_bits_per_s"), 10e6);
  EXPECT_EQ(data.at("tcp_at_slowest_bits_per_s"), 4e6) << "both flows as the slowest";
  EXPECT_EQ(data.at("goodput_bits_per_s"), 2 * data.at("bus_bits_per_s").get<double>());
  EXPECT_EQ(data.at("allowed_bits_per_s"), 2 * data.at("bound_bits_per_s").get<double>());
  EXPECT_FALSE(made.report.data.at("permutation").contains("tcp_at_slowest_bits_per_s"));
}

// Of four hosts the two sent as well.
TEST(Stress, FromFiveHostsOnTheTwoBesideTheIncastSendNothingOfIt) {
  const StageMade made = made_by(run_stress, ScriptedFabric(scripted_leaf_spine(3)));
  EXPECT_EQ(made.report.data.at("victim").at("from"), "h5");
  EXPECT_EQ(made.report.data.at("victim").at("to"), "h1");
  std::set<std::string> senders;
  for (const Json& flow : made.report.data.at("incast").at("flows")) {
    senders.insert(flow.at("from").get<std::string>());
  }
  EXPECT_THAT(senders, UnorderedElementsAre("h2", "h3", "h4"));
}

TEST(Stress, TwoHostsHaveNoBystander) {
  const StageMade made = made_by(run_stress, ScriptedFabric(scripted_leaf_spine(1)));
  EXPECT_TRUE(made.rows("latency beside it over TCP").empty());
  EXPECT_EQ(made.row("latency beside it").where, "2 hosts");
}

}  // namespace
}  // namespace heddle::acceptance
