// NCCL's rings and trees, read from logs and dumps written here after the format's rules.
#include "topology/nccl_graph.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::topology {
namespace {

using Ring = std::vector<uint32_t>;

std::string line(uint32_t rank, const std::string& text) {
  const std::string number = std::to_string(rank);
  return "node" + number + ":40" + number + ":41" + number + " [0] NCCL INFO " + text + "\n";
}

std::string communicator(uint32_t rank, uint32_t ranks) {
  return line(rank, "comm 0x55e0 rank " + std::to_string(rank) + " nRanks " +
                        std::to_string(ranks) + " nNodes 2 localRanks 2 localRank 0 MNNVL 0");
}

// Two channels: a ring in each direction, and two trees.
std::string log_of_four() {
  return "starting\n" + communicator(0, 4) + line(0, "Channel 00/02 : 0 1 2 3") +
         line(0, "Channel 01/02 : 0 3 2 1") + line(0, "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC") +
         line(0, "Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1") + communicator(1, 4) +
         line(1, "Trees [0] 2/3/-1->1->0 [1] 0/2/-1->1->3") + communicator(2, 4) +
         line(2, "Trees [0] -1/-1/-1->2->1 [1] -1/-1/-1->2->1") + communicator(3, 4) +
         line(3, "Trees [0] -1/-1/-1->3->1 [1] 1/-1/-1->3->-1") + "the end";
}

NcclGraphs read(const std::vector<std::string>& texts) {
  NcclGraphReader reader;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto added = reader.add(texts[i], "file" + std::to_string(i));
    EXPECT_TRUE(added.has_value()) << added.error().message();
  }
  auto graphs = reader.finish();
  EXPECT_TRUE(graphs.has_value()) << graphs.error().message();
  return graphs.value_or(NcclGraphs{});
}

// The message of what add() or finish() refuses.
std::string refusal(const std::vector<std::string>& texts) {
  NcclGraphReader reader;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto added = reader.add(texts[i], "file" + std::to_string(i));
    if (!added) return added.error().message();
  }
  const auto graphs = reader.finish();
  return graphs ? "" : graphs.error().message();
}

TEST(NcclGraph, ALogOfAllRanksHasRingsAndTrees) {
  const NcclGraphs graphs = read({log_of_four()});
  EXPECT_TRUE(graphs.notes.empty());
  const NcclGraph* const graph = graphs.of(4);
  ASSERT_NE(graph, nullptr);
  ASSERT_EQ(graph->channels.size(), 2u);
  EXPECT_EQ(graph->channels[0].ring, (Ring{0, 1, 2, 3}));
  EXPECT_EQ(graph->channels[1].ring, (Ring{0, 3, 2, 1}));
  ASSERT_TRUE(graph->has_trees());
  EXPECT_EQ(graph->channels[0].tree[1], (NcclTreeNode{0, {2, 3}}));
  EXPECT_EQ(graph->channels[0].tree[0], (NcclTreeNode{std::nullopt, {1}}));
  EXPECT_EQ(graph->channels[1].tree[3], (NcclTreeNode{std::nullopt, {1}}));
  EXPECT_EQ(graphs.of(3), nullptr);
}

TEST(NcclGraph, LinesOfRanksMayBeInFilesOfTheirOwnAndMixed) {
  const std::string log = log_of_four();
  const size_t half = log.find("node2");
  const NcclGraphs graphs = read({log.substr(half), log.substr(0, half)});
  ASSERT_NE(graphs.of(4), nullptr);
  EXPECT_EQ(*graphs.of(4), *read({log}).of(4));
}

TEST(NcclGraph, ARingThatNcclCutsIsPutTogetherFromTheLinesOfRanks) {
  std::string log = communicator(0, 3) + line(0, "Channel 00/01 : 0 2...");
  for (const auto& [rank, next] : {std::pair<int, int>{0, 2}, {1, 0}, {2, 1}}) {
    log += communicator(static_cast<uint32_t>(rank), 3);
    log += line(static_cast<uint32_t>(rank),
                "Ring 00 : 0 -> " + std::to_string(rank) + " -> " + std::to_string(next));
  }
  const NcclGraphs graphs = read({log});
  ASSERT_NE(graphs.of(3), nullptr);
  EXPECT_EQ(graphs.of(3)->channels[0].ring, (Ring{0, 2, 1}));
  EXPECT_FALSE(graphs.of(3)->has_trees());
}

TEST(NcclGraph, TreesOfSomeRanksOnlyAreLeftOutWithANote) {
  const std::string log = log_of_four();
  const NcclGraphs graphs = read({log.substr(0, log.find("node1"))});
  ASSERT_NE(graphs.of(4), nullptr);
  EXPECT_TRUE(graphs.of(4)->has_rings());
  EXPECT_FALSE(graphs.of(4)->has_trees());
  ASSERT_EQ(graphs.notes.size(), 1u);
  EXPECT_NE(graphs.notes[0].find("the trees of 4 ranks are incomplete"), std::string::npos);
}

TEST(NcclGraph, CommunicatorsOfOtherSizesAreKeptApartAndOfTheSameSizeTheFirstCounts) {
  const std::string other = communicator(1, 2) + line(1, "Channel 00/01 : 0 1") +
                            line(1, "Channel 00/01 : 1 0") + line(1, "Channel 00/01 : 1 0");
  const NcclGraphs graphs = read({log_of_four() + "\n" + other});
  ASSERT_NE(graphs.of(2), nullptr);
  EXPECT_EQ(graphs.of(2)->channels[0].ring, (Ring{0, 1}));
  ASSERT_EQ(graphs.notes.size(), 1u);
  EXPECT_NE(graphs.notes[0].find("another communicator of 2 ranks"), std::string::npos);
  EXPECT_NE(graphs.notes[0].find("file0:16"), std::string::npos) << graphs.notes[0];
  EXPECT_EQ(graphs.of(4)->channels.size(), 2u);
}

TEST(NcclGraph, ImpossibleChannelsAreRefusedWithTheirLine) {
  struct Case {
    std::string text;
    const char* why;
  };
  const Case cases[] = {
      {line(0, "Channel 00/02 : 0 1 1 3"), "file0:2: rank 1 is in the ring twice"},
      {line(0, "Channel 00/02 : 0 1 9 3"), "file0:2: rank 9 is in a ring of 4 ranks"},
      {line(0, "Channel 00/02 : 0 x 2 3"), "file0:2: 'x' in a ring is no rank"},
      {line(0, "Channel 77/99 : 0 1 2 3"), "file0:2: there is no channel '77/99'"},
      {line(0, "comm 0x1 rank 4 nRanks 4"), "file0:2: there is no rank '4' of '4'"},
      {line(0, "comm 0x1 rank 0 nRanks 99999999"), "there is no rank '0' of '99999999'"},
      {line(0, "Ring 00 : 0 -> 4 -> 1"), "file0:2: a rank of the ring is beyond 4 ranks"},
      {line(0, "Ring 00 : 0 -> z -> 1"), "file0:2: a ring has no such channel or ranks"},
      {line(0, "Trees [0] 1/-1->0->-1"), "'1/-1->0->-1' is not children, rank and parent"},
      {line(0, "Trees [0] 1/-1/-1->0"), "is not children, rank and parent"},
      {line(0, "Trees [0]"), "'[0]' is not children, rank and parent"},
      {line(0, "Trees [0] 1/-1/-1->0->8"), "a rank of the trees is beyond 4 ranks"},
      {line(9, "Trees [0] 1/-1/-1->0->-1"), "has the number of ranks"},
      {"nothing of NCCL\n", "no line of it names a ring or a tree"},
  };
  for (const Case& each : cases) {
    const std::string text = refusal({communicator(0, 4) + each.text});
    EXPECT_NE(text.find(each.why), std::string::npos) << text;
  }
}

TEST(NcclGraph, ATreeThatDoesNotHoldTogetherIsLeftOut) {
  // Rank 2's parent does not know it; ranks 1 and 2 are below each other.
  for (const char* last : {"Trees [0] -1/-1/-1->2->0", "Trees [0] 1/-1/-1->2->1"}) {
    const std::string log = communicator(0, 3) + line(0, "Channel 00/01 : 0 1 2") +
                            line(0, "Trees [0] 1/-1/-1->0->-1") + communicator(1, 3) +
                            line(1, "Trees [0] 2/-1/-1->1->2") + communicator(2, 3) + line(2, last);
    const NcclGraphs graphs = read({log});
    ASSERT_NE(graphs.of(3), nullptr);
    EXPECT_FALSE(graphs.of(3)->has_trees());
    EXPECT_EQ(graphs.notes.size(), 1u);
  }
}

std::string channel_xml(const std::vector<int>& ranks, bool net, bool with_rank = true) {
  std::string text = "    <channel>\n";
  if (net) text += "      <net dev=\"0x0\"/>\n";
  for (const int rank : ranks) {
    text += "      <gpu dev=\"0x" + std::to_string(rank % 2) + "\"" +
            (with_rank ? " rank=\"" + std::to_string(rank) + "\"" : "") + "/>\n";
  }
  if (net) text += "      <net dev=\"0x0\"/>\n";
  return text + "    </channel>\n";
}

std::string graph_xml(const std::string& rings, const std::string& trees, int crossnic = 0) {
  return "<graphs version=\"1\">\n  <graph id=\"0\" pattern=\"4\" crossnic=\"" +
         std::to_string(crossnic) + "\" nchannels=\"2\">\n" + rings +
         "  </graph>\n  <graph id=\"1\" pattern=\"1\" crossnic=\"0\">\n" + trees +
         "  </graph>\n  <graph id=\"3\" pattern=\"5\" nchannels=\"0\"/>\n</graphs>\n";
}

TEST(NcclGraph, AGraphDumpOfOneHostHasItsRingsAndChains) {
  const std::string rings = channel_xml({2, 0, 1}, false) + channel_xml({1, 0, 2}, false);
  const std::string trees = channel_xml({1, 2, 0}, false) + channel_xml({1, 2, 0}, false);
  const NcclGraphs graphs = read({graph_xml(rings, trees)});
  ASSERT_NE(graphs.of(3), nullptr);
  const NcclGraph& graph = *graphs.of(3);
  ASSERT_EQ(graph.channels.size(), 2u);
  EXPECT_EQ(graph.channels[0].ring, (Ring{0, 1, 2}));
  EXPECT_EQ(graph.channels[1].ring, (Ring{0, 2, 1}));
  EXPECT_EQ(graph.channels[0].tree[2], (NcclTreeNode{1, {0}}));
  EXPECT_EQ(graph.channels[0].tree[1], (NcclTreeNode{std::nullopt, {2}}));
}

TEST(NcclGraph, DumpsOfTwoHostsAreJoinedInTheOrderOfTheirRanks) {
  const std::string first = channel_xml({0, 1}, true) + channel_xml({1, 0}, true);
  const std::string second = channel_xml({2, 3}, true) + channel_xml({3, 2}, true);
  const NcclGraphs graphs = read({graph_xml(second, ""), graph_xml(first, "")});
  ASSERT_NE(graphs.of(4), nullptr);
  EXPECT_EQ(graphs.of(4)->channels[0].ring, (Ring{0, 1, 2, 3}));
  EXPECT_EQ(graphs.of(4)->channels[1].ring, (Ring{0, 3, 2, 1}));
  EXPECT_FALSE(graphs.of(4)->has_trees());
  // Where rings may cross NICs, the second host's pairs of rings are exchanged.
  const NcclGraphs crossed = read({graph_xml(first, "", 2), graph_xml(second, "", 2)});
  EXPECT_EQ(crossed.of(4)->channels[0].ring, (Ring{0, 1, 3, 2}));
}

TEST(NcclGraph, ADumpWithoutRanksTakesThemFromTheTopologyBeforeIt) {
  const std::string rings = channel_xml({1, 0}, false, false);
  const std::string graph = graph_xml(rings, "");
  const std::string topology =
      "<system version=\"1\">\n <cpu numaid=\"0\">\n  <pci busid=\"0\"><gpu dev=\"0\" "
      "rank=\"1\"/></pci>\n  <pci busid=\"1\"><gpu dev=\"1\" rank=\"0\"/></pci>\n </cpu>\n"
      "</system>\n";
  const NcclGraphs graphs = read({topology, graph});
  ASSERT_NE(graphs.of(2), nullptr);
  EXPECT_EQ(graphs.of(2)->channels[0].ring, (Ring{0, 1}));
  EXPECT_NE(refusal({graph}).find("file0:4: a GPU has no rank"), std::string::npos)
      << refusal({graph});
  EXPECT_NE(refusal({topology}).find("no communicator has whole rings"), std::string::npos);
}

TEST(NcclGraph, ADumpThatIsNotWholeIsNamedWithItsLine) {
  struct Case {
    std::string text;
    const char* why;
  };
  const Case cases[] = {
      {"<graphs>\n<graph id=\"0\"", "file0:2: "},
      {"<html/>", "file0:1: the element 'html' begins neither"},
      {graph_xml("", ""), "file0:1: there is no graph of rings"},
      {graph_xml("    <channel/>\n", ""), "file0:3: a channel has no GPU"},
      {graph_xml(channel_xml({0, 0}, false), ""), "file0:3: a rank is in a channel twice"},
      {graph_xml(channel_xml({0, 1}, false) + channel_xml({0}, false), ""),
       "more or fewer ranks than the first"},
      {graph_xml("<channel><gpu dev=\"0\" rank=\"-1\"/></channel>", ""), "'-1' is no rank"},
      {graph_xml("<channel><gpu/></channel>", ""), "neither a rank nor a device number"},
      {graph_xml(channel_xml({0, 1}, true), ""), "file0: its channels leave the host"},
      {graph_xml(channel_xml({0, 2}, false), ""), "do not have each rank from 0 to 1 once"},
      {graph_xml(channel_xml({0, 1}, false), channel_xml({0, 2}, false)), "other ranks"},
      {"<system/>", "file0:1: no GPU of the topology has a rank"},
      {"<graphs><graph/></graphs>", "a graph has no id"},
  };
  for (const Case& each : cases) {
    const std::string text = refusal({each.text});
    EXPECT_NE(text.find(each.why), std::string::npos) << text << "\n" << each.text;
  }
}

TEST(NcclGraph, LogsCountWhereThereAreDumpsToo) {
  const std::string rings = channel_xml({0, 1}, true);
  const std::string more = channel_xml({3, 2}, true);
  const NcclGraphs graphs = read({graph_xml(rings, ""), graph_xml(more, ""), log_of_four()});
  ASSERT_NE(graphs.of(4), nullptr);
  EXPECT_EQ(graphs.of(4)->channels.size(), 2u);
  EXPECT_TRUE(graphs.of(4)->has_trees());
}

TEST(NcclGraph, WithoutAnyFileThereIsNothing) {
  EXPECT_NE(refusal({}).find("no communicator has whole rings or trees"), std::string::npos);
}

}  // namespace
}  // namespace heddle::topology
