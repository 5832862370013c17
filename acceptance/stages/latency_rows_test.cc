// Rows of latencies: pairs are compared with those whose routes are as long, in any fabric.
#include "acceptance/stages/latency_rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "topology/generators.h"

namespace heddle::acceptance {
namespace {

topology::Topology leaf_spine(uint32_t leaves, uint32_t hosts_per_leaf) {
  return topology::leaf_spine({.leaves = leaves, .spines = 4, .hosts_per_leaf = hosts_per_leaf});
}

// Of all pairs: 10 us under one leaf, 1 ms to another one.
std::vector<LatencyFigures> latencies_of(const topology::Topology& topology) {
  const auto hosts = static_cast<uint32_t>(topology.hosts.size());
  std::vector<uint32_t> leaves;
  for (uint32_t host = 0; host < hosts; ++host) leaves.push_back(leaf_of(topology, host));
  std::vector<LatencyFigures> latencies;
  for (uint32_t from = 0; from < hosts; ++from) {
    for (uint32_t to = 0; to < hosts; ++to) {
      if (from == to) continue;
      const double us = leaves[from] == leaves[to] ? 10 : 1'000;
      latencies.push_back({.pair = {from, to}, .us_min = us, .us_p50 = us});
    }
  }
  return latencies;
}

std::string name_of(const HostPair& pair) { return fmt::format("h{} to h{}", pair.from, pair.to); }

TEST(LatencyRows, PairsUnderOneLeafAndAcrossLeavesHaveTheirOwnMedian) {
  const topology::Topology fabric = leaf_spine(2, 3);
  std::vector<LatencyFigures> latencies = latencies_of(fabric);
  std::vector<Row> rows = latency_rows(fabric, latencies, name_of);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].where, "30 of 30 pairs");
  latencies[0].us_min = 900;  // h0 to h1
  latencies[4].complaint = "no answer";
  rows = latency_rows(fabric, latencies, name_of);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].where, "h0 to h1");
  EXPECT_EQ(rows[0].expected, "at most 170 us; other pairs: 10 us");
  EXPECT_EQ(rows[0].grade, Grade::kWarn);
  EXPECT_EQ(rows[1].where, "h0 to h5");
  EXPECT_EQ(rows[1].grade, Grade::kFail);
  EXPECT_EQ(rows[2].where, "28 of 30 pairs");
}

// For each pair the routes of all were found anew: hours.
TEST(LatencyRows, AllPairsOfALargeFabricAreJudgedAtOnce) {
  const topology::Topology fabric = leaf_spine(16, 32);
  std::vector<LatencyFigures> latencies = latencies_of(fabric);
  latencies[7].us_min = 900;
  const std::vector<Row> rows = latency_rows(fabric, latencies, name_of);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].where, "h0 to h8");
  EXPECT_EQ(rows[1].where, "261631 of 261632 pairs");
}

}  // namespace
}  // namespace heddle::acceptance
