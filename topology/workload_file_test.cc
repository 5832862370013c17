// Workload files: the flows of the tables, and errors with their line.
#include "topology/workload_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "topology/generators.h"

namespace heddle::topology {
namespace {

using testing::HasSubstr;

// Hosts h0 to h7.
Topology fabric() { return leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 4}); }

Workload parsed(const std::string& text, uint64_t seed = 1) {
  Result<Workload> workload = parse_workload("version = 1\n" + text, "w.toml", fabric(), seed);
  EXPECT_TRUE(workload) << workload.error().message();
  return workload ? std::move(*workload) : Workload{};
}

std::string refused(const std::string& text) {
  const Result<Workload> workload = parse_workload(text, "w.toml", fabric(), 1);
  return workload ? "accepted" : workload.error().message();
}

std::set<std::pair<uint32_t, uint32_t>> ends(const Workload& workload) {
  std::set<std::pair<uint32_t, uint32_t>> all;
  for (const Flow& flow : workload.flows) all.insert({flow.from, flow.to});
  return all;
}

TEST(WorkloadFile, InAPermutationEachHostSendsOnceAndReceivesOnce) {
  const Workload workload = parsed(R"(
[[job]]
kind = "permutation"
bytes = "2MB"
start = "10us"
)");
  ASSERT_EQ(workload.flows.size(), 8u);
  std::set<uint32_t> senders;
  std::set<uint32_t> receivers;
  for (const Flow& flow : workload.flows) {
    EXPECT_NE(flow.from, flow.to);
    EXPECT_EQ(flow.bytes, Bytes{2'000'000});
    EXPECT_EQ(flow.start, micros(10));
    senders.insert(flow.from);
    receivers.insert(flow.to);
  }
  EXPECT_EQ(senders.size(), 8u);
  EXPECT_EQ(receivers.size(), 8u);
}

TEST(WorkloadFile, EqualSeedsGiveEqualPermutations) {
  const std::string text = "[[job]]\nkind = \"permutation\"\nbytes = \"1KB\"\n";
  EXPECT_EQ(ends(parsed(text, 3)), ends(parsed(text, 3)));
  EXPECT_NE(ends(parsed(text, 3)), ends(parsed(text, 4)));
}

TEST(WorkloadFile, IncastHasTheGivenNumberOfSenders) {
  const Workload workload = parsed(R"(
[[job]]
kind = "incast"
to = "h5"
senders = 3
bytes = "64KiB"
)");
  EXPECT_EQ(workload.flows.size(), 3u);
  EXPECT_EQ(ends(workload).size(), 3u);
  for (const Flow& flow : workload.flows) EXPECT_EQ(flow.to, 5u);
  const Workload all = parsed("[[job]]\nkind = \"incast\"\nto = \"h5\"\nbytes = \"1KB\"\n");
  EXPECT_EQ(all.flows.size(), 7u);
}

TEST(WorkloadFile, AllToAllInAWindowWaitsForArrivals) {
  const Workload workload = parsed(R"(
[[job]]
kind = "all_to_all"
hosts = ["h0..h2", "h6"]
at_once = 2
bytes = "1MB"
)");
  EXPECT_EQ(ends(workload).size(), 12u);
  const auto waits = [](const Flow& flow) { return flow.waits_for != kNoTrigger; };
  EXPECT_EQ(std::count_if(workload.flows.begin(), workload.flows.end(), waits), 4);
  EXPECT_EQ(workload.triggers.size(), 4u);
  for (const Flow& flow : workload.flows) EXPECT_NE(flow.when_received, kNoTrigger);
}

TEST(WorkloadFile, JobsAndFlowsAreCombinedWithUniqueIds) {
  const Workload workload = parsed(R"(
[[job]]
kind = "permutation"
hosts = ["h0..h3"]
bytes = "1MB"
[[job]]
kind = "permutation"
hosts = ["h4..h7"]
bytes = "2MB"
start = "1ms"
[[flow]]
from = "h0"
to = "h7"
bytes = "5KB"
id = 100
)");
  ASSERT_EQ(workload.flows.size(), 9u);
  EXPECT_EQ(workload.flows[7].id, 8u);
  EXPECT_EQ(workload.flows[8].id, 100u);
  EXPECT_EQ(workload.flows[8].to, 7u);
}

// Fully expanded, the ranges have 4 * 10^9 hosts, more than memory holds.
TEST(WorkloadFile, RepeatedRangesAreNotFullyExpanded) {
  const Topology large = leaf_spine({.leaves = 1'000, .spines = 1, .hosts_per_leaf = 40});
  std::string text = "version = 1\n[[job]]\nkind = \"permutation\"\nbytes = \"1KB\"\nhosts = [";
  for (int i = 0; i < 100'000; ++i) text += "\"h0..h39999\",";
  const Result<Workload> workload = parse_workload(text + "]\n", "w.toml", large, 1);
  ASSERT_FALSE(workload);
  EXPECT_EQ(workload.error().what, "cannot use w.toml:5");
  EXPECT_EQ(workload.error().why, "h0 is there twice");
}

TEST(WorkloadFile, MistakesAreReportedWithTheirLine) {
  const std::string job = "version = 1\n[[job]]\nkind = \"permutation\"\n";
  EXPECT_THAT(refused("[[job]]\n"), HasSubstr("'version' is missing"));
  EXPECT_THAT(refused("version = 2\n"), HasSubstr("w.toml:1"));
  EXPECT_THAT(refused("version = 1\n"), HasSubstr("no flows"));
  EXPECT_THAT(refused("version = 1\nplan = 3\n"), HasSubstr("w.toml:2: the key 'plan'"));
  EXPECT_THAT(refused(job), HasSubstr("w.toml:2: the key 'bytes' is missing"));
  EXPECT_THAT(refused(job + "bytes = \"0B\"\n"), HasSubstr("w.toml:4: a flow has 1 byte"));
  EXPECT_THAT(refused(job + "bytes = \"1KB\"\nto = \"h1\"\n"), HasSubstr("w.toml:5"));
  EXPECT_THAT(refused(job + "bytes = \"1KB\"\nhosts = [\"h1\", \"h9\"]\n"),
              HasSubstr("w.toml:5: there is no host 'h9'"));
  EXPECT_THAT(refused(job + "bytes = \"1KB\"\nhosts = [\"h1..h3\", \"h2\"]\n"),
              HasSubstr("h2 is there twice"));
  EXPECT_THAT(refused(job + "bytes = \"1KB\"\nhosts = [\"h3..h1\"]\n"), HasSubstr("backwards"));
  EXPECT_THAT(refused(job + "bytes = \"1KB\"\nhosts = [\"h1\"]\n"), HasSubstr("fewer than two"));
  EXPECT_THAT(refused("version = 1\n[[job]]\nkind = \"storm\"\nbytes = \"1KB\"\n"),
              HasSubstr("w.toml:3: there is no job \"storm\""));
  EXPECT_THAT(refused("version = 1\n[[job]]\nkind = \"incast\"\nto = \"h0\"\nsenders = 8\n"
                      "bytes = \"1KB\"\n"),
              HasSubstr("w.toml:5: there are 7 hosts"));
  EXPECT_THAT(refused("version = 1\n[[flow]]\nfrom = \"h1\"\nto = \"h1\"\nbytes = \"1KB\"\n"),
              HasSubstr("w.toml:4: the host sends to itself"));
  EXPECT_THAT(refused("version = 1\n[[flow]]\nfrom = \"h1\"\nto = \"h2\"\nbytes = \"1KB\"\nid = 1\n"
                      "[[flow]]\nfrom = \"h1\"\nto = \"h2\"\nbytes = \"1KB\"\nid = 1\n"),
              HasSubstr("two flows have the id 1"));
}

}  // namespace
}  // namespace heddle::topology
