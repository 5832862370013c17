// Session: which pairs of hosts each coverage measures.
#include "acceptance/session.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "acceptance/stages/stages.h"
#include "acceptance/testing/scripted_fabric.h"

namespace heddle::acceptance {
namespace {

using Pairs = std::set<std::pair<uint32_t, uint32_t>>;

// Of all rounds; no pair is in two of them.
Pairs measured_pairs(uint32_t hosts, const AcceptanceOptions& options) {
  const ScriptedFabric fabric(scripted_leaf_spine(hosts / 2));
  const auto session = Session::open(fabric, options);
  Pairs pairs;
  for (const std::vector<HostPair>& round : (*session)->rounds(true)) {
    for (const HostPair& pair : round) {
      EXPECT_TRUE(pairs.insert({pair.from, pair.to}).second) << pair.from << " to " << pair.to;
    }
  }
  return pairs;
}

// To how many hosts each host sends.
std::set<size_t> partners_in(const Pairs& pairs, uint32_t hosts) {
  std::set<size_t> counts;
  for (uint32_t host = 0; host < hosts; ++host) {
    size_t count = 0;
    for (const auto& [from, to] : pairs) count += from == host ? 1 : 0;
    counts.insert(count);
  }
  return counts;
}

TEST(Session, EachCoverageHasItsPairs) {
  for (const uint32_t hosts : {4U, 10U, 16U}) {
    EXPECT_EQ(measured_pairs(hosts, {.coverage = Coverage::kFull}).size(), hosts * (hosts - 1));
    const Pairs ring = measured_pairs(hosts, {.coverage = Coverage::kRing});
    EXPECT_EQ(ring.size(), 2 * hosts);
    for (uint32_t host = 0; host < hosts; ++host) {
      EXPECT_TRUE(ring.contains({host, (host + 1) % hosts}));
      EXPECT_TRUE(ring.contains({(host + 1) % hosts, host}));
    }
  }
  for (const uint32_t hosts : {10U, 16U}) {
    const Pairs sample = measured_pairs(hosts, {.coverage = Coverage::kSample});
    EXPECT_EQ(partners_in(sample, hosts), std::set<size_t>{4}) << hosts;
    for (const auto& [from, to] : sample) EXPECT_TRUE(sample.contains({to, from}));
  }
  EXPECT_EQ(measured_pairs(4, {.coverage = Coverage::kSample}).size(), 12) << "there are no more";
}

TEST(Session, QuickTestsOfManyHostsTakeASample) {
  EXPECT_EQ(measured_pairs(8, {.depth = Depth::kQuick}).size(), 56);
  EXPECT_EQ(measured_pairs(10, {.depth = Depth::kQuick}).size(), 40);
  EXPECT_EQ(measured_pairs(10, {.depth = Depth::kNormal}).size(), 90);
  const AcceptanceOptions asked{.depth = Depth::kQuick, .coverage = Coverage::kFull};
  EXPECT_EQ(measured_pairs(10, asked).size(), 90);
}

TEST(Session, TheStageReachMeasuresThePairsOfItsCoverage) {
  const ScriptedFabric fabric(scripted_leaf_spine(3));
  for (const auto& [coverage, pairs] : {std::pair(Coverage::kFull, 30), {Coverage::kRing, 12}}) {
    const StageMade made = made_by(run_reach, fabric, {.coverage = coverage});
    EXPECT_EQ(made.report.data["pairs"].size(), pairs);
    ASSERT_EQ(made.rows("reach").size(), 1);
    EXPECT_EQ(made.row("reach").where,
              std::to_string(pairs) + " of " + std::to_string(pairs) + " pairs");
  }
}

}  // namespace
}  // namespace heddle::acceptance
