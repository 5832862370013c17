// NIC goodput: which hosts and pairs are named for it, and beside what it is judged.
#include "acceptance/stages/nic_goodput.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "acceptance/stages/stages.h"
#include "acceptance/testing/scripted_fabric.h"
#include "topology/generators.h"

namespace heddle::acceptance {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Three hosts whose second NICs are on a leaf of their own, all links of 100 Mbit/s.
topology::Topology two_rails() {
  topology::LeafSpineShape shape{.leaves = 2, .spines = 1, .hosts_per_leaf = 3, .nics_per_host = 2};
  shape.rails = true;
  shape.host_link = {
      .rate = megabits_per_s(100), .delay = {}, .queue = {125'000}, .mtu_bytes = 1500};
  shape.spine_link = shape.host_link;
  return topology::leaf_spine(shape);
}

// `share`: of what a link carries, over the second NICs of a pair.
using Share = std::function<double(const std::string& from, const std::string& to_address)>;

// The report of the stage for such a fabric.
StageMade made_with(topology::Topology topology, bool planned, Share share) {
  ScriptedFabric fabric(std::move(topology));
  for (uint32_t i = 0; i < fabric.more.size(); ++i) {
    fabric.more[i] = {{"nic1", fmt::format("10.1.0.{}", i), planned}};
  }
  fabric.answer = [share = std::move(share)](const Asked& asked) {
    const std::string to = asked.after("perf");
    if (!to.starts_with("10.1.") || !asked.is("bw")) return healthy_answer(asked);
    Answer answer = healthy_answer(asked);
    Json document = Json::parse(answer.output);
    document["tests"][0]["server"]["received"]["goodput_gbits_per_s"] =
        0.1 * share(asked.host, to) * (1500 - 68) / 1514;
    return Answer{document.dump()};
  };
  return made_by(run_pairs, fabric);
}

double whole(const std::string& /*from*/, const std::string& /*to*/) { return 0.95; }

double slow_at_h1(const std::string& from, const std::string& to) {
  return from == "h1" || to == "10.1.0.1" ? 0.25 : 0.95;
}

TEST(NicGoodput, EachNicHasARowOfWhatItsLinksCarry) {
  const StageMade made = made_with(two_rails(), true, whole);
  const std::vector<Row> rows = made.rows("goodput of NIC");
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].where, "6 of 6 pairs");
  EXPECT_EQ(rows[0].measured, "nic1: 95% to 95% of what the links carry");
  EXPECT_EQ(rows[0].grade, Grade::kOk);
  EXPECT_THAT(made.report.data.at("nic_pairs"), SizeIs(6));
  for (const std::string& line : made.commands) {
    if (line.find("perf 10.1.0.2 bw") == std::string::npos) continue;
    EXPECT_THAT(line, HasSubstr("--bind 10.1.0."));
  }
}

TEST(NicGoodput, AHostThatIsSlowOverItIsNamedWithTheNic) {
  const StageMade made = made_with(two_rails(), true, slow_at_h1);
  const Row row = made.row("goodput of NIC");
  EXPECT_EQ(row.where, "h1");
  EXPECT_EQ(row.measured, "nic1: slow to and from every host");
  EXPECT_EQ(row.grade, Grade::kFail);
  EXPECT_THAT(row.todo, HasSubstr("nic1 on h1"));
  EXPECT_EQ(made.rows("goodput of NIC").back().where, "2 of 6 pairs");
  EXPECT_EQ(made.row("goodput").where, "6 of 6 pairs") << "over the first NICs all is well";
}

// Without a topology the further NICs may be of a slower network: only outliers are seen.
TEST(NicGoodput, OneThatTheTopologyDoesNotHaveIsComparedWithTheMedianAndCanOnlyWarn) {
  const auto slow_alike = [](const std::string&, const std::string&) { return 0.1; };
  const StageMade alike = made_with(scripted_leaf_spine(2), false, slow_alike);
  EXPECT_EQ(alike.row("goodput of NIC").where, "12 of 12 pairs");
  EXPECT_EQ(alike.row("goodput of NIC").measured, "nic1: 100% to 100% of the median, 9.46 Mb/s");
  EXPECT_EQ(alike.row("goodput of NIC").grade, Grade::kOk);
  const auto one_slow = [](const std::string& from, const std::string& to) {
    return from == "h0" && to == "10.1.0.3" ? 0.2 : 0.95;
  };
  const StageMade made = made_with(scripted_leaf_spine(2), false, one_slow);
  EXPECT_EQ(made.row("goodput of NIC").where, "h0 to h3");
  EXPECT_EQ(made.row("goodput of NIC").grade, Grade::kWarn);
  EXPECT_EQ(made.row("goodput of NIC", 1).where, "11 of 12 pairs");
}

// Each of its rounds waited for the handshakes, and up to five rows warned.
TEST(NicGoodput, OneOfAnotherNetworkIsTriedInOneRoundAndHasNoRow) {
  ScriptedFabric fabric(scripted_leaf_spine(2));
  for (uint32_t i = 0; i < fabric.more.size(); ++i) {
    fabric.more[i] = {{"eno1", fmt::format("10.1.0.{}", i), false}};
  }
  fabric.answer = [](const Asked& asked) {
    const bool other = asked.after("perf").starts_with("10.1.");
    return other ? Answer{"", "heddle: no answer\n", 2} : healthy_answer(asked);
  };
  const StageMade made = made_by(run_pairs, fabric);
  EXPECT_THAT(made.rows("goodput of NIC"), IsEmpty());
  std::set<std::string> targets;
  for (const std::string& line : made.commands) {
    const size_t at = line.find("perf 10.1.");
    if (at != std::string::npos) targets.insert(line.substr(at));
  }
  EXPECT_THAT(targets, SizeIs(2)) << "one round of two pairs";
}

TEST(NicGoodput, HostsWithOneNicHaveNoRows) {
  const StageMade made = made_by(run_pairs, ScriptedFabric(scripted_leaf_spine(2)));
  EXPECT_THAT(made.rows("goodput of NIC"), IsEmpty());
  EXPECT_FALSE(made.report.data.contains("nic_pairs"));
}

}  // namespace
}  // namespace heddle::acceptance
