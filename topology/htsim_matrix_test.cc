// htsim's connection matrices: the meaning of each line, and errors with their line.
#include "topology/htsim_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "topology/generators.h"
#include "topology/names.h"

namespace heddle::topology {
namespace {

using testing::HasSubstr;

Topology fabric() { return fat_tree({}); }  // 16 hosts, 8 leaves and spines, 4 cores

Workload parsed(const std::string& text) {
  Result<Workload> workload = parse_htsim_matrix(text, "m.cm", fabric());
  EXPECT_TRUE(workload) << workload.error().message();
  return workload ? std::move(*workload) : Workload{};
}

std::string refused(const std::string& text) {
  const Result<Workload> workload = parse_htsim_matrix(text, "m.cm", fabric());
  return workload ? "accepted" : workload.error().message();
}

TEST(HtsimMatrix, ConnectionsAreFlows) {
  const Workload workload = parsed(
      "# two of them\n"
      "Nodes 16\r\n"
      "Connections 2\n"
      "\n"
      "7->5 id 9 start 0 size 2000000\n"
      "15->1  start 1500000.0\tsize 77 prio 3\n");
  ASSERT_EQ(workload.flows.size(), 2u);
  EXPECT_EQ(workload.flows[0].id, 9u);
  EXPECT_EQ(workload.flows[0].from, 7u);
  EXPECT_EQ(workload.flows[0].to, 5u);
  EXPECT_EQ(workload.flows[0].bytes, Bytes{2'000'000});
  EXPECT_EQ(workload.flows[1].id, 10u) << "behind the largest";
  EXPECT_EQ(workload.flows[1].start, nanos(1'500)) << "given in picoseconds";
}

TEST(HtsimMatrix, TriggersMayBeDeclaredAfterTheirUse) {
  const Workload workload = parsed(
      "Nodes 16\nConnections 3\nTriggers 2\n"
      "0->1 id 1 start 0 size 10 send_done_trigger 5\n"
      "1->2 id 2 trigger 5 size 10 recv_done_trigger 7\n"
      "2->3 id 3 trigger 7 size 10\n"
      "trigger id 5 oneshot\n"
      "trigger id 7 barrier count 4\n");
  ASSERT_EQ(workload.triggers.size(), 2u);
  EXPECT_EQ(workload.flows[0].when_sent, workload.flows[1].waits_for);
  EXPECT_EQ(workload.flows[1].when_received, workload.flows[2].waits_for);
  EXPECT_EQ(workload.triggers[workload.flows[2].waits_for].kind, TriggerKind::kBarrier);
  EXPECT_EQ(workload.triggers[workload.flows[2].waits_for].count, 4u);
}

TEST(HtsimMatrix, FailuresNameCables) {
  const Workload workload = parsed(
      "Nodes 16\nConnections 1\nFailures 3\n"
      "0->1 start 0 size 10\n"
      "failure switch_type AGG switch_id 1 link_id 1\n"
      "failure switch_type TOR switch_id 0 link_id 0\n"
      "failure switch_type CORE switch_id 3 link_id 2\n");
  ASSERT_EQ(workload.failed_links.size(), 3u);
  const Topology topology = fabric();
  EXPECT_EQ(link_label(topology, workload.failed_links[0]), "spine1 - core3");
  EXPECT_EQ(link_label(topology, workload.failed_links[1]), "leaf0 - spine0");
  EXPECT_EQ(link_label(topology, workload.failed_links[2]), "spine5 - core3");
}

TEST(HtsimMatrix, ErrorsQuoteWordsCutAndWithoutControlCharacters) {
  const std::string one = "Nodes 16\nConnections 1\n";
  EXPECT_THAT(refused(one + std::string(100'000, 'x') + "\n"),
              HasSubstr("m.cm:3: '" + std::string(40, 'x') + "...' is not known (lines"));
  EXPECT_THAT(refused("\x1b]0;owned\a\xff\\\n"),
              HasSubstr(R"(m.cm:1: '\x1b]0;owned\x07\xff\x5c' is not known)"));
  EXPECT_THAT(refused("Nodes \x1b[2J\n"), HasSubstr(R"('Nodes' is '\x1b[2J')"));
  EXPECT_THAT(refused(one + "\x1b->1\n"), HasSubstr(R"('\x1b->1' does not name)"));
  EXPECT_THAT(refused(one + "0->1 start \x1b\n"), HasSubstr(R"('start' is '\x1b')"));
  EXPECT_THAT(refused(one + "trigger \x1b\n"), HasSubstr(R"('\x1b' is not expected)"));
  EXPECT_THAT(refused(one + "failure \x1b\n"), HasSubstr(R"('\x1b' is not expected)"));
  EXPECT_THAT(refused(one + "failure switch_type \x1b switch_id 1 link_id 1\n"),
              HasSubstr(R"(no switch_type '\x1b')"));
}

TEST(HtsimMatrix, MistakesAreReportedWithTheirLine) {
  const std::string one = "Nodes 16\nConnections 1\n";
  EXPECT_THAT(refused(""), HasSubstr("no line 'Nodes'"));
  EXPECT_THAT(refused("Nodes 17\n"), HasSubstr("m.cm:1: it has 17 nodes, and the topology 16"));
  EXPECT_THAT(refused("Nodes many\n"), HasSubstr("m.cm:1: 'Nodes' is 'many'"));
  EXPECT_THAT(refused("Nodes 16\nConnexions 1\n"), HasSubstr("m.cm:2: 'Connexions' is not known"));
  EXPECT_THAT(refused("0->1 start 0 size 1\n"), HasSubstr("m.cm:1: '0->1' names a node"));
  EXPECT_THAT(refused(one + "0->16 start 0 size 1\n"), HasSubstr("m.cm:3"));
  EXPECT_THAT(refused(one + "0->0 start 0 size 1\n"), HasSubstr("sends to itself"));
  EXPECT_THAT(refused(one + "0->x start 0 size 1\n"), HasSubstr("does not name two nodes"));
  EXPECT_THAT(refused(one + "0->1 size 1\n"), HasSubstr("m.cm:3: nothing says when it starts"));
  EXPECT_THAT(refused(one + "0->1 start 0\n"), HasSubstr("m.cm:3: it has no size"));
  EXPECT_THAT(refused(one + "0->1 start -4 size 1\n"), HasSubstr("'start' is '-4'"));
  EXPECT_THAT(refused(one + "0->1 start nan size 1\n"), HasSubstr("'start' is 'nan'"));
  EXPECT_THAT(refused(one + "0->1 start 0 size\n"), HasSubstr("nothing follows 'size'"));
  EXPECT_THAT(refused(one + "0->1 start 0 size 1 hue 3\n"), HasSubstr("'hue' is not known"));
  EXPECT_THAT(refused(one + "0->1 start 0 size 1 id 0\n"), HasSubstr("'id' is 0"));
  EXPECT_THAT(refused(one + "0->1 start 0 trigger 2 size 1\n"), HasSubstr("and waits for"));
  EXPECT_THAT(refused(one + "0->1 trigger 2 size 1\n"),
              HasSubstr("m.cm:3: trigger 2 is not declared"));
  EXPECT_THAT(refused("Nodes 16\nConnections 2\n0->1 start 0 size 1\n"),
              HasSubstr("'Connections' says 2, and there are 1"));
  EXPECT_THAT(refused("Nodes 16\nConnections 2\n0->1 id 4 start 0 size 1\n"
                      "0->2 id 4 start 0 size 1\n"),
              HasSubstr("m.cm:4: two flows have the id 4"));
  EXPECT_THAT(refused(one + "trigger id 1 oneshot multishot\n"), HasSubstr("m.cm:3"));
  EXPECT_THAT(refused(one + "trigger oneshot\n"), HasSubstr("the trigger has no id"));
  EXPECT_THAT(refused(one + "trigger id 1\n"), HasSubstr("the trigger has no type"));
  EXPECT_THAT(refused(one + "failure switch_type AGG switch_id 99 link_id 0\n"),
              HasSubstr("m.cm:3: the topology has no switch spine99"));
  EXPECT_THAT(refused(one + "failure switch_type AGG switch_id 1 link_id 2\n"),
              HasSubstr("spine1 has 2 links that go up"));
  EXPECT_THAT(refused(one + "failure switch_type HUB switch_id 1 link_id 2\n"),
              HasSubstr("no switch_type 'HUB'"));
}

}  // namespace
}  // namespace heddle::topology
