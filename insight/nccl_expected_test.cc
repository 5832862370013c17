// NCCL's rings and trees as expected traffic: sums over ranks, and what follows from an order.
#include "insight/nccl_expected.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace heddle::insight {
namespace {

using events::Algorithm;
using events::ElementType;
using events::Operation;
using topology::NcclGraph;
using Sent = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;

// Two rings, one in each direction, and a tree of two shapes.
NcclGraph two_channels() {
  return {4,
          {{.ring = {0, 2, 1, 3}, .tree = {{{}, {1}}, {0, {2, 3}}, {1, {}}, {1, {}}}},
           {.ring = {0, 3, 1, 2}, .tree = {{1, {}}, {3, {0, 2}}, {1, {}}, {{}, {1}}}}}};
}

CallShape shape_of(Operation operation, Algorithm algorithm, uint64_t count, uint32_t root = 0) {
  return {.operation = operation,
          .algorithm = algorithm,
          .type = ElementType::kFloat,
          .size = 4,
          .root = root,
          .count = count};
}

Sent all_sent(const CallShape& shape, const NcclGraph& graph) {
  Sent sent;
  for (uint32_t rank = 0; rank < shape.size; ++rank) {
    const auto shares = nccl_expected_sends(shape, rank, graph);
    EXPECT_TRUE(shares.has_value());
    for (const Share& share : shares.value_or(std::vector<Share>())) {
      sent[{rank, share.peer}] += share.bytes;
    }
  }
  return sent;
}

TEST(NcclExpected, AnAllReduceFollowsTheRingsOfItsChannels) {
  const Sent sent = all_sent(shape_of(Operation::kAllreduce, Algorithm::kRing, 80), two_channels());
  // Each channel has 40 elements; a rank sends 2 * 3 / 4 of them to its next.
  const uint64_t each = 60 * 4;
  const Sent expected = {{{0, 2}, each}, {{2, 1}, each}, {{1, 3}, each}, {{3, 0}, each},
                         {{0, 3}, each}, {{3, 1}, each}, {{1, 2}, each}, {{2, 0}, each}};
  EXPECT_EQ(sent, expected);
}

TEST(NcclExpected, AllSegmentsButOneAreSentTwiceWhateverTheCount) {
  for (uint64_t count = 0; count < 40; ++count) {
    uint64_t total = 0;
    for (const auto& [pair, bytes] :
         all_sent(shape_of(Operation::kAllreduce, Algorithm::kRing, count), two_channels())) {
      total += bytes;
    }
    EXPECT_EQ(total, 2 * 3 * count * 4) << count;
  }
}

TEST(NcclExpected, ABroadcastEndsBeforeItsRootAndAReduceAtIt) {
  const Sent spread =
      all_sent(shape_of(Operation::kBroadcast, Algorithm::kRing, 2, 1), two_channels());
  const Sent one_way = {{{1, 3}, 4}, {{3, 0}, 4}, {{0, 2}, 4},
                        {{1, 2}, 4}, {{2, 0}, 4}, {{0, 3}, 4}};
  EXPECT_EQ(spread, one_way);
  const Sent combined =
      all_sent(shape_of(Operation::kReduce, Algorithm::kRing, 2, 1), two_channels());
  const Sent other_way = {{{3, 0}, 4}, {{0, 2}, 4}, {{2, 1}, 4},
                          {{2, 0}, 4}, {{0, 3}, 4}, {{3, 1}, 4}};
  EXPECT_EQ(combined, other_way);
}

TEST(NcclExpected, AGatherPassesAllBlocksButOne) {
  const Sent sent = all_sent(shape_of(Operation::kAllgather, Algorithm::kRing, 3), two_channels());
  EXPECT_EQ(sent.at({0, 2}), 3u * 2 * 4);  // the first channel has two elements of each block
  EXPECT_EQ(sent.at({0, 3}), 3u * 1 * 4);
}

TEST(NcclExpected, ATreeSendsToTheParentAndToTheChildren) {
  const Sent sent = all_sent(shape_of(Operation::kAllreduce, Algorithm::kTree, 6), two_channels());
  const uint64_t half = 3 * 4;
  const Sent expected = {{{0, 1}, 2 * half}, {{1, 0}, 2 * half}, {{1, 2}, 2 * half},
                         {{2, 1}, 2 * half}, {{1, 3}, 2 * half}, {{3, 1}, 2 * half}};
  EXPECT_EQ(sent, expected);
}

TEST(NcclExpected, WhatNcclsRingsAndTreesDoNotCarryIsUnknown) {
  const NcclGraph graph = two_channels();
  NcclGraph rings = graph;
  NcclGraph trees = graph;
  for (auto& channel : rings.channels) channel.tree.clear();
  for (auto& channel : trees.channels) channel.ring.clear();
  const auto known = [](const CallShape& shape, uint32_t rank, const NcclGraph& of) {
    return nccl_expected_sends(shape, rank, of).has_value();
  };
  const CallShape ring = shape_of(Operation::kAllreduce, Algorithm::kRing, 8);
  const CallShape tree = shape_of(Operation::kAllreduce, Algorithm::kTree, 8);
  EXPECT_TRUE(known(ring, 0, rings));
  EXPECT_FALSE(known(ring, 0, trees));
  EXPECT_TRUE(known(tree, 0, trees));
  EXPECT_FALSE(known(tree, 0, rings));
  EXPECT_FALSE(known(ring, 4, graph));
  EXPECT_FALSE(known(shape_of(Operation::kBroadcast, Algorithm::kTree, 8), 0, graph));
  EXPECT_FALSE(known(shape_of(Operation::kAlltoall, Algorithm::kRing, 8), 0, graph));
  EXPECT_FALSE(known(shape_of(Operation::kReduce, Algorithm::kRing, 8, 4), 0, graph));
  CallShape larger = ring;
  larger.size = 5;
  EXPECT_FALSE(known(larger, 0, graph));
}

TEST(NcclExpected, OtherAlgorithmsAreByTheFormulasOfRankOrder) {
  const CallShape shape = shape_of(Operation::kSend, Algorithm::kLinear, 5, 2);
  const auto shares = nccl_expected_sends(shape, 0, two_channels());
  ASSERT_TRUE(shares.has_value());
  ASSERT_EQ(shares->size(), 1u);
  EXPECT_EQ((*shares)[0].peer, 2u);
  EXPECT_EQ((*shares)[0].bytes, 20u);
}

}  // namespace
}  // namespace heddle::insight
