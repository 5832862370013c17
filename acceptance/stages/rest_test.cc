// Stage rest: what an interruption proves, and which of parallel links it leaves out.
#include "acceptance/stages/rest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "acceptance/testing/scripted_fabric.h"
#include "acceptance/testing/shared_flag.h"

namespace heddle::acceptance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Row failed(const std::string& where) {
  return {"link rate", where, "1 Mb/s", "100 Mb/s", Grade::kFail, "mend it"};
}

std::vector<std::string> places(const StageReport& report, const std::string& check) {
  std::vector<std::string> found;
  for (const Row& row : report.rows) {
    if (row.check == check) found.push_back(row.where);
  }
  return found;
}

// Ctrl-C in the test of a group: a host that did not listen yet was left out, and the others were
// tested once more.
TEST(Rest, InterruptedItLeavesNoHostOutAndTestsNoOtherGroup) {
  const SharedFlag interrupted;
  ScriptedFabric fabric(scripted_leaf_spine(2));
  fabric.answer = [&](const Asked& asked) {
    if (asked.host != "h1") return healthy_answer(asked);
    interrupted.set();
    return Answer{};
  };
  AcceptanceOptions options;
  options.interrupted = [&] { return interrupted.is_set(); };
  StageReport report;
  ASSERT_TRUE(run_rest(fabric, options, {failed("h0")}, report));
  EXPECT_TRUE(interrupted.is_set());
  EXPECT_THAT(report.rows, IsEmpty());
  const auto servers = std::count_if(
      report.commands.begin(), report.commands.end(),
      [](const std::string& line) { return line.find("--listen") != std::string::npos; });
  EXPECT_LE(servers, 3) << "of h1, h2 and h3, once";
}

// Of what is left, the second of two links was the first: that one was blamed once more.
TEST(Rest, OfParallelLinksThatAreSlowBothAreLeftOut) {
  topology::Topology topology = scripted_leaf_spine(2);  // four links of hosts, then leaf0 - spine0
  topology.links.push_back(topology.links[4]);
  ScriptedFabric fabric(topology);
  for (CarriedLoad& load : fabric.loads) {
    load.forward.peak_bits_per_s = load.backward.peak_bits_per_s = 95e6;
  }
  fabric.loads.back().forward = {.peak_bits_per_s = 20e6, .dropped = 100};
  StageReport report;
  ASSERT_TRUE(run_rest(fabric, {}, {failed("leaf0 to spine0")}, report));
  EXPECT_THAT(places(report, "left out"), ElementsAre("leaf0 - spine0", "leaf0 - spine0 #1"));
  EXPECT_THAT(places(report, "tried before"), ElementsAre("4 of 4 hosts"));
  EXPECT_EQ(grade_of(report), Grade::kWarn);
}

}  // namespace
}  // namespace heddle::acceptance
