// Live figures: what a snapshot has of a test that runs.
#include "acceptance/live_figures.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "topology/file.h"

namespace heddle::acceptance {
namespace {

constexpr const char* kFabric = R"(version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 1
hosts_per_leaf = 1
[host_link]
rate = "40Mbit/s"
queue = "50KB"
[switch_link]
rate = "10Mbit/s"
queue = "25KB"
)";

class LiveFiguresOfTwoHosts : public testing::Test {
 protected:
  void SetUp() override {
    const auto fabric = topology::parse_topology(kFabric, "test");
    ASSERT_TRUE(fabric) << fabric.error().message();
    live_.begin(*fabric, {"reach", "pairs"}, {{{0, 1}}, {{1, 0}}});
  }
  const LiveLink& link(const LiveSnapshot& now, const std::string& from, const std::string& to) {
    for (const LiveLink& each : now.links) {
      if (each.from == from && each.to == to) return each;
    }
    ADD_FAILURE() << from << " to " << to;
    return now.links.front();
  }

  LiveFigures live_{"rack7"};
};

TEST_F(LiveFiguresOfTwoHosts, HaveBothDirectionsOfEachLink) {
  const LiveSnapshot now = live_.snapshot();
  EXPECT_EQ(now.fabric, "rack7");
  EXPECT_EQ(now.links.size(), 8U);
  EXPECT_EQ(link(now, "h0", "leaf0").rate_bits_per_s, 40e6);
  EXPECT_EQ(link(now, "leaf0", "h0").label, "h0 - leaf0");
  EXPECT_EQ(link(now, "h0", "leaf0").offered_bits_per_s, 10e6);  // the spine's link leaves no more
}

TEST_F(LiveFiguresOfTwoHosts, KnowWhichStageRuns) {
  live_.begin_stage("reach");
  LiveSnapshot now = live_.snapshot();
  EXPECT_TRUE(now.stages[0].running);
  EXPECT_FALSE(now.stages[0].grade);
  EXPECT_FALSE(now.stages[1].running);
  StageReport report{.name = "reach", .outcome = StageOutcome::kFailed, .seconds = 3};
  report.rows = {{"reach", "h0 to h1", "", "", Grade::kFail, ""},
                 {"MTU", "", "1500", "1500", Grade::kOk}};
  live_.end_stage(report);
  now = live_.snapshot();
  EXPECT_FALSE(now.stages[0].running);
  EXPECT_EQ(now.stages[0].outcome, StageOutcome::kFailed);
  EXPECT_EQ(now.stages[0].grade, Grade::kFail);
  EXPECT_EQ(now.stages[0].seconds, 3);
  EXPECT_EQ(now.stages[0].checks, (std::map<Grade, size_t>{{Grade::kOk, 1}, {Grade::kFail, 1}}));
  EXPECT_EQ(now.stages[1].outcome, StageOutcome::kNotRun);
}

TEST_F(LiveFiguresOfTwoHosts, KeepWhatAStageMeasured) {
  StageReport report{.name = "pairs", .outcome = StageOutcome::kPassed};
  report.data["pairs"] = {
      {{"from", "h0"},
       {"to", "h1"},
       {"goodput_bits_per_s", 9e6},
       {"allowed_bits_per_s", 9.5e6},
       {"segments", 200},
       {"retransmitted", 3},
       {"half_round_trip_us_p50", 60.5},
       {"half_round_trip_us_p99", 900},
       {"paths",
        {{{"path", 3}, {"goodput_bits_per_s", 4e6}, {"rtt_us", 1500}, {"lost_segments", 2}}}}}};
  report.data["sizes"] = {{{"bytes", 65536}, {"bus_bits_per_s", 8e6}, {"bound_bits_per_s", 9.5e6}}};
  report.data["victim"] = {{"from", "h1"}, {"to", "h0"}, {"half_round_trip_us_p99", 12000}};
  live_.end_stage(report);
  const LiveSnapshot now = live_.snapshot();
  const LivePair& pair = now.pairs.at({"h0", "h1"});
  EXPECT_EQ(pair.goodput_bits_per_s, 9e6);
  EXPECT_EQ(pair.allowed_bits_per_s, 9.5e6);
  EXPECT_EQ(pair.retransmitted_share, 0.015);
  EXPECT_EQ(pair.latency.us_p50, 60.5);
  const LivePath& path = now.paths.at({{"h0", "h1"}, 3});
  EXPECT_EQ(path.goodput_bits_per_s, 4e6);
  EXPECT_EQ(path.rtt_us, 1500);
  EXPECT_EQ(path.lost_segments, 2);
  EXPECT_EQ(now.all_reduces.at(65536).bus_bits_per_s, 8e6);
  EXPECT_EQ(now.bystanders.at({"h1", "h0"}).us_p99, 12000);
}

TEST_F(LiveFiguresOfTwoHosts, CountersNeverFall) {
  std::vector<CarriedLoad> loads(4);
  loads[0].forward = {5e6, 1000, 2, 1};
  loads[0].backward = {1e6, 70, 0, 0};
  live_.set_loads(loads, 0.5);
  loads[0].forward = {4e6, 900, 3, 0};  // a device was made anew
  live_.set_loads(loads, 0.25);
  live_.set_loads({}, 0.25);  // they could not be read
  const LiveSnapshot now = live_.snapshot();
  const LinkLoad& load = link(now, "h0", "leaf0").load;
  EXPECT_EQ(load.peak_bits_per_s, 5e6);
  EXPECT_EQ(load.bytes, 1000U);
  EXPECT_EQ(load.dropped, 3U);
  EXPECT_EQ(load.errors, 1U);
  EXPECT_EQ(link(now, "leaf0", "h0").load.bytes, 70U);
  EXPECT_EQ(now.others_busy_share, 0.25);
}

TEST_F(LiveFiguresOfTwoHosts, CountersOfNicsBeginAtZeroAndNeverFall) {
  const auto read = [](uint64_t bytes, bool carrier) -> std::vector<PlaceCounts> {
    return {{"h0", false, true, {{"eth0", false, {{"rx_bytes", bytes}}, carrier}}, "eth0"},
            {"leaf0", true, true, {{"h0", false, {{"rx_bytes", bytes}}, carrier}}, ""},
            {"h1", false, false, {}, ""}};
  };
  live_.set_nics(read(500, true));
  EXPECT_EQ(live_.snapshot().nics.at({"h0", "eth0"}).counts.at("rx_bytes"), 0U);
  live_.set_nics(read(800, true));
  live_.set_nics(read(20, false));  // its driver was loaded anew
  live_.set_nics({});
  const LiveSnapshot now = live_.snapshot();
  ASSERT_EQ(now.nics.size(), 1U);
  const LiveNic& nic = now.nics.at({"h0", "eth0"});
  EXPECT_EQ(nic.counts.at("rx_bytes"), 300U);
  EXPECT_EQ(nic.carrier, false);
  EXPECT_FALSE(nic.is_rdma);
}

// A driver that lists a counter later than others had counted all since it was loaded.
TEST_F(LiveFiguresOfTwoHosts, ACounterThatAppearsLaterBeginsAtZeroToo) {
  const auto read = [](const std::map<std::string, uint64_t>& counts) -> std::vector<PlaceCounts> {
    return {{"h0", false, true, {{"eth0", false, counts}}, "eth0"}};
  };
  live_.set_nics(read({{"rx_bytes", 500}}));
  live_.set_nics(read({{"rx_bytes", 600}, {"rx_errors", 70}}));
  EXPECT_EQ(live_.snapshot().nics.at({"h0", "eth0"}).counts.at("rx_errors"), 0U);
  live_.set_nics(read({{"rx_bytes", 600}, {"rx_errors", 72}}));
  EXPECT_EQ(live_.snapshot().nics.at({"h0", "eth0"}).counts.at("rx_errors"), 2U);
}

TEST_F(LiveFiguresOfTwoHosts, AnotherThreadSeesWholeSnapshots) {
  std::atomic<bool> done{false};
  uint64_t highest = 0;
  std::thread reader([&] {
    while (!done) {
      const LiveSnapshot now = live_.snapshot();
      const uint64_t bytes = now.links.front().load.bytes;
      EXPECT_GE(bytes, highest);
      EXPECT_EQ(bytes, now.links.front().load.dropped);
      highest = bytes;
    }
  });
  std::vector<CarriedLoad> loads(4);
  for (uint64_t i = 1; i <= 2000; ++i) {
    loads[0].forward.bytes = loads[0].forward.dropped = i;
    live_.set_loads(loads, 0);
  }
  done = true;
  reader.join();
}

}  // namespace
}  // namespace heddle::acceptance
