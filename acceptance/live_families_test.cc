// Live families: the metrics of a snapshot are those that the documentation and the plugin for
// Prometheus have. HEDDLE_WRITE=1 writes the example that the plugin is tested with anew.
#include "acceptance/live_families.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <sstream>

#include "base/document.h"
#include "base/version.h"
#include "topology/file.h"

namespace heddle::acceptance {
namespace {

constexpr const char* kExample = "plugins/prometheus/example.metrics";
constexpr const char* kReference = "docs/reference/metrics.md";

constexpr const char* kFabric = R"(version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
[host_link]
rate = "40Mbit/s"
queue = "50KB"
[switch_link]
rate = "20Mbit/s"
queue = "25KB"
)";

// Of two hosts: a NIC, and an RDMA port whose counters began at 5.
std::vector<PlaceCounts> nics(uint64_t counted) {
  std::vector<PlaceCounts> places(2);
  for (size_t i = 0; i < places.size(); ++i) {
    places[i].place = fmt::format("h{}", i);
    places[i].nics = {{"eth0",
                       false,
                       {{"rx_bytes", counted * 7},
                        {"tx_bytes", counted * 8},
                        {"rx_dropped", 2},
                        {"tx_dropped", 0},
                        {"rx_errors", 0},
                        {"tx_errors", 0},
                        {"carrier_changes", 2}},
                       true},
                      {"mlx5_0 port 1", true, {{"np_cnp_sent", counted + 4}, {"rx_write", 9}}}};
  }
  return places;
}

// Of a test that is at the stage traffic, and in which nothing is wrong.
LiveSnapshot example() {
  LiveFigures live("rack7");
  const auto fabric = topology::parse_topology(kFabric, "example");
  EXPECT_TRUE(fabric) << fabric.error().message();
  live.begin(*fabric, {"inventory", "reach", "pairs", "collectives", "stress", "traffic"},
             rounds_of(4, true));
  for (const char* const name : {"inventory", "reach", "pairs", "collectives", "stress"}) {
    StageReport stage{.name = name, .outcome = StageOutcome::kPassed, .seconds = 2.5};
    stage.rows = {{"links", "8 of 8 links", "8 of 8", "as planned", Grade::kOk, ""}};
    live.end_stage(stage);
  }
  std::vector<CarriedLoad> loads(fabric->links.size());
  for (size_t i = 0; i < loads.size(); ++i) {
    const auto rate = static_cast<double>(fabric->links[i].shape.rate.count);
    loads[i].forward = {rate, 30'000'000 + i, 12, 0};
    loads[i].backward = {rate, 29'000'000 + i, 3, 0};
  }
  live.set_loads(loads, 0.0625);
  live.set_nics(nics(1));
  live.set_nics(nics(1'000));
  LiveSnapshot now = live.snapshot();
  for (const char* const from : {"h0", "h1", "h2", "h3"}) {
    for (const char* const to : {"h0", "h1", "h2", "h3"}) {
      if (from == std::string(to)) continue;
      now.pairs[{from, to}] = {36e6, 38e6, 0.015625, {64, 512}};
      now.paths[{{from, to}, 0}] = {20e6, 1'500, 3};
      now.paths[{{from, to}, 1}] = {16e6, 1'750, 0};
    }
  }
  now.all_reduces = {{65536, {20e6, 38e6}}, {524288, {30e6, 38e6}}};
  now.bystanders[{"h3", "h1"}] = {1024, 8192};
  now.stages.back().running = true;
  now.stages.back().seconds = 0.5;
  return now;
}

std::string label_names(const metrics::Sample& sample) {
  std::string names;
  for (const metrics::Label& each : sample.labels) {
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", each.name);
  }
  return names;
}

TEST(LiveFamilies, AreThoseOfTheReference) {
  const Result<std::string> page = read_text_file(kReference, "");
  ASSERT_TRUE(page) << page.error().message();
  std::set<std::string> listed;
  std::istringstream lines(*page);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| `heddle_verify_", 0) == 0) listed.insert(line);
  }
  std::set<std::string> served;
  for (const metrics::Family& family : families_of(example())) {
    ASSERT_FALSE(family.samples.empty()) << family.name;
    served.insert(fmt::format("| `{}` | {} | {} | {} |", family.name, name_of(family.type),
                              label_names(family.samples.front()), family.help));
  }
  EXPECT_EQ(fmt::format("{}", fmt::join(served, "\n")), fmt::format("{}", fmt::join(listed, "\n")));
}

TEST(LiveFamilies, AreTheExampleOfThePlugin) {
  Result<std::string> text = metrics::exposition_of(families_of(example()));
  ASSERT_TRUE(text) << text.error().message();
  const std::string version = fmt::format("version=\"{}\"", kVersion);
  text->replace(text->find(version), version.size(), "version=\"0.0.0\"");
  if (std::getenv("HEDDLE_WRITE") != nullptr) {
    ASSERT_TRUE(write_text_file(kExample, *text));
  }
  const Result<std::string> written = read_text_file(kExample, "");
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(*text, *written) << "run HEDDLE_WRITE=1 build/release/bin/acceptance_test "
                                "--gtest_filter=LiveFamilies.*";
}

TEST(LiveFamilies, OfATestThatBeginsHaveNoVerdict) {
  LiveSnapshot now;
  now.fabric = "a \"b\"\n";
  now.stages = {{.name = "reach"}};
  const Result<std::string> text = metrics::exposition_of(families_of(now));
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_NE(text->find("{fabric=\"a \\\"b\\\"\\n\",stage=\"reach\",state=\"not_run\"} 1\n"),
            std::string::npos);
  EXPECT_NE(text->find("verdict=\"pass\"} 0\n"), std::string::npos);
  EXPECT_EQ(text->find("heddle_verify_link"), std::string::npos);
}

TEST(LiveFamilies, HaveNoSampleWhereThereIsNoFigure) {
  LiveSnapshot now;
  now.links = {{"a", "b", "a - b", 0, 0, {}}};  // no rate, so nothing is expected
  now.pairs[{"a", "b"}] = {};                   // it failed
  const Result<std::string> text = metrics::exposition_of(families_of(now));
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(text->find("link_rate"), std::string::npos);
  EXPECT_EQ(text->find("link_expected"), std::string::npos);
  EXPECT_NE(text->find("link_transmitted_bytes_total{"), std::string::npos);
  EXPECT_EQ(text->find("pair_allowed"), std::string::npos);
  EXPECT_EQ(text->find("latency"), std::string::npos);
  EXPECT_NE(text->find("pair_goodput_bytes_per_second{"), std::string::npos);
}

TEST(LiveFamilies, TheVerdictIsTheWorstSoFar) {
  LiveSnapshot now;
  now.stages = {{.name = "a", .grade = Grade::kOk},
                {.name = "b", .outcome = StageOutcome::kBroken, .grade = Grade::kFail},
                {.name = "c"}};
  const Result<std::string> text = metrics::exposition_of(families_of(now));
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_NE(text->find("verdict=\"fail\"} 1\n"), std::string::npos);
  EXPECT_NE(text->find("stage=\"b\",state=\"broken\"} 1\n"), std::string::npos);
}

}  // namespace
}  // namespace heddle::acceptance
