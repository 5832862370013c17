// Every schedule gives the right result for any number of ranks, any count and in any order of
// events, and moves the bytes that its formula says.
#include "collectives/schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/sanitized.h"
#include "collectives/testing/symbolic_run.h"

namespace heddle::collectives {
namespace {

struct Kind {
  Collective collective;
  Algorithm algorithm;
};

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (uint32_t c = 0; c < kCollectives; ++c) {
    for (uint32_t a = 0; a < kAlgorithms; ++a) {
      const Kind kind = {static_cast<Collective>(c), static_cast<Algorithm>(a)};
      const bool one_sided =
          kind.collective == Collective::kSend || kind.collective == Collective::kReceive;
      if (!one_sided && can_run(kind.collective, kind.algorithm)) kinds.push_back(kind);
    }
  }
  return kinds;
}

class EverySchedule : public testing::TestWithParam<Kind> {
 protected:
  // Of the sizes that groups can have, another for each `seed`.
  static uint32_t groups_of(uint32_t size, uint64_t seed) {
    std::vector<uint32_t> divisors;
    for (uint32_t each = 1; each <= size; ++each) {
      if (size % each == 0) divisors.push_back(each);
    }
    return divisors[seed % divisors.size()];
  }
  static Shape shape_of(uint32_t size, uint64_t count) {
    Shape shape;
    shape.collective = GetParam().collective;
    shape.algorithm = GetParam().algorithm;
    shape.size = size;
    shape.count = count;
    shape.element_bytes = shape.collective == Collective::kBarrier ? 1 : 4;
    shape.chunk_bytes = 20;
    shape.group_ranks = groups_of(size, size + count);
    return shape;
  }
  // Few slots: those that reduce later must not starve those that reduce first.
  static SymbolicOptions random_options(Random& random, uint64_t seed, uint64_t most_count) {
    const auto size = static_cast<uint32_t>(random.between(2, 9));
    SymbolicOptions options{.shape = shape_of(size, random.between(1, most_count)), .seed = seed};
    options.shape.root = static_cast<uint32_t>(random.below(size));
    options.shape.group_ranks = groups_of(size, random.next());
    options.shape.chunk_bytes = 4 * random.between(1, 60);
    options.slots = static_cast<uint32_t>(random.between(2, 8));
    return options;
  }
  static std::string run(const SymbolicOptions& options) {
    const std::string wrong = SymbolicRun(options).run();
    if (wrong.empty()) return wrong;
    const Shape& shape = options.shape;
    return wrong + ": size " + std::to_string(shape.size) + " count " +
           std::to_string(shape.count) + " root " + std::to_string(shape.root) + " groups of " +
           std::to_string(shape.group_ranks) + " chunk " + std::to_string(shape.chunk_bytes) +
           (options.in_place ? " in place" : "") + " seed " + std::to_string(options.seed);
  }
};

TEST_P(EverySchedule, IsRightForEverySizeAndCount) {
  uint64_t seed = 0;
  const uint32_t largest = kSanitized ? 17 : 33;
  for (uint32_t size = 1; size <= largest; ++size) {
    for (const uint64_t count : {0U, 1U, 2U, 7U, size - 1, size, size + 1, 3 * size + 2}) {
      SymbolicOptions options{.shape = shape_of(size, count), .seed = ++seed};
      options.shape.root = static_cast<uint32_t>(seed * 7 % size);
      ASSERT_EQ(run(options), "");
    }
  }
}

TEST_P(EverySchedule, IsRightInAnyOrderOfEvents) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    ASSERT_EQ(run(random_options(random, seed, 400)), "");
  }
}

// Chunks that end where the network's bursts do differ in length by more than an element.
TEST_P(EverySchedule, IsRightWithChunksOfWholeBursts) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    SymbolicOptions options = random_options(random, seed, 800);
    options.shape.burst_payload_bytes = random.between(1, options.shape.chunk_bytes + 9);
    options.in_place = seed % 2 == 0 && GetParam().collective != Collective::kAllToAllV;
    ASSERT_EQ(run(options), "") << "bursts of " << options.shape.burst_payload_bytes;
  }
}

TEST_P(EverySchedule, IsRightInPlace) {
  if (GetParam().collective == Collective::kAllToAllV) return;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const auto size = static_cast<uint32_t>(random.between(1, 9));
    SymbolicOptions options{
        .shape = shape_of(size, random.between(0, 200)), .in_place = true, .seed = seed};
    options.shape.root = static_cast<uint32_t>(random.below(size));
    ASSERT_EQ(run(options), "");
  }
}

// Otherwise its acknowledgement would be delayed by a millisecond.
TEST_P(EverySchedule, BehindASendThatIsUnaskedAnotherAsks) {
  if (GetParam().collective == Collective::kAllToAllV) return;
  for (uint32_t size = 1; size <= 17; ++size) {
    for (const uint64_t count : {1U, 7U, size, 40 * size + 3}) {
      Shape shape = shape_of(size, count);
      for (shape.rank = 0; shape.rank < size; ++shape.rank) {
        const Schedule schedule(shape);
        std::map<std::pair<uint32_t, uint32_t>, bool> asked;  // by peer and channel: the last send
        for (uint64_t i = 0; i < schedule.steps(); ++i) {
          const Step step = schedule.at(i);
          if (step.kind == StepKind::kSend) asked[{step.peer, step.channel}] = !step.unasked;
        }
        for (const auto& [stream, asks] : asked) {
          ASSERT_TRUE(asks) << "size " << size << " count " << count << " to " << stream.first;
        }
      }
    }
  }
}

TEST_P(EverySchedule, OnlyAllReducesHaveAnswersAndSendsThatAreUnasked) {
  if (GetParam().collective == Collective::kAllToAllV) return;
  for (uint32_t size = 2; size <= 17; ++size) {
    Shape shape = shape_of(size, 40 * size + 3);
    for (shape.rank = 0; shape.rank < size; ++shape.rank) {
      const Schedule schedule(shape);
      uint64_t answers = 0;
      uint64_t unasked = 0;
      for (uint64_t i = 0; i < schedule.steps(); ++i) {
        answers += schedule.at(i).answers ? 1 : 0;
        unasked += schedule.at(i).unasked ? 1 : 0;
      }
      if (shape.collective != Collective::kAllReduce) {
        ASSERT_EQ(answers + unasked, 0U);
      } else if (shape.algorithm == Algorithm::kRing) {
        ASSERT_GT(answers, 0U);
        ASSERT_GT(unasked, 0U);
      }
    }
  }
}

// Many ranks have more peers than a window has steps.
TEST_P(EverySchedule, IsRightForAHundredRanks) {
  SymbolicOptions options{.shape = shape_of(100, 2)};
  options.shape.root = 37;
  ASSERT_EQ(run(options), "");
}

TEST_P(EverySchedule, HoldsNothingButNumbers) {
  static_assert(sizeof(Schedule) <= 256);
  Shape shape = shape_of(1000, uint64_t{16} << 20);
  shape.rank = 3;
  shape.chunk_bytes = 128 << 10;
  if (GetParam().collective == Collective::kAllToAllV) return;
  const Schedule schedule(shape);
  ASSERT_GT(schedule.steps(), 0U);
  EXPECT_LE(schedule.at(schedule.steps() - 1).peer, 999U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EverySchedule, testing::ValuesIn(all_kinds()),
                         [](const auto& each) {
                           return std::string(name_of(each.param.collective)) + "_" +
                                  std::string(name_of(each.param.algorithm));
                         });

// --- chunks ---

TEST(Cut, EndsChunksAtUnitsInAsFewAsCanBe) {
  const Cut cut(1'048'576, 312'620, 62'524);
  ASSERT_EQ(cut.count(), 4U);
  EXPECT_EQ(cut.longest(), 312'620U);
  const uint64_t ends[] = {312'620, 562'716, 812'812, 1'048'576};
  for (uint64_t i = 0, begin = 0; i < 4; begin = ends[i++]) {
    const Part part = cut.part(Part{1000, 1'048'576}, i);
    EXPECT_EQ(part.offset, 1000 + begin);
    EXPECT_EQ(part.length, ends[i] - begin);
  }
}

TEST(Cut, IsEvenWhereThereIsNoUnitAndWholeWhereOneChunkIsEnough) {
  EXPECT_EQ(Cut(10, 4, 1).part(10, 0).length, 4U);
  EXPECT_EQ(Cut(10, 4, 1).part(10, 2).length, 3U);
  EXPECT_EQ(Cut(10, 4, 5).count(), 3U) << "a unit that no chunk holds counts for nothing";
  EXPECT_EQ(Cut(10, 10, 3).count(), 1U);
  EXPECT_EQ(Cut(10, 10, 3).part(10, 0).length, 10U);
  EXPECT_EQ(Cut(0, 4, 2).part(0, 0).length, 0U);
}

TEST(Cut, OfAShapeHasAsManyBurstsAsHoldAChunk) {
  Shape shape = {.element_bytes = 8, .chunk_bytes = 256 << 10};
  EXPECT_EQ(shape.longest_chunk_bytes(), 256U << 10);
  shape.burst_payload_bytes = 62'524;  // no multiple of an element
  EXPECT_EQ(shape.longest_chunk_bytes(), 5U * 62'524);
  EXPECT_EQ(shape.cut(1 << 20).part(1 << 20, 0).length, 5U * (62'524 / 8));
  EXPECT_EQ(shape.chunk_count(), 32'768U) << "blocks, and so the order of sums, are any network's";
  shape.chunk_bytes = 4096;
  EXPECT_EQ(shape.longest_chunk_bytes(), 4096U) << "shorter than a burst";
}

TEST(Cut, CoversEveryRowOnceInNoChunkLongerThanAllowed) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t longest = random.below(500);
    const uint64_t most = random.between(1, 90);
    const Cut cut(longest, most, random.between(1, 100));
    const uint64_t row = random.below(longest + 1);
    uint64_t covered = 0;
    for (uint64_t chunk = 0; chunk < cut.count(); ++chunk) {
      const Part part = cut.part(row, chunk);
      ASSERT_EQ(part.offset, covered);
      ASSERT_LE(part.length, std::min(most, cut.longest()));
      covered += part.length;
    }
    ASSERT_EQ(covered, row);
  }
}

// --- bytes on each edge: N bytes, n ranks ---

struct Sent {
  uint64_t to_next = 0;
  uint64_t most = 0;  // of one rank, to all
  uint64_t total = 0;
};

Sent sent_by(Collective collective, Algorithm algorithm, uint32_t size, uint64_t count) {
  SymbolicOptions options;
  options.shape = {.collective = collective,
                   .algorithm = algorithm,
                   .size = size,
                   .count = count,
                   .element_bytes = 4,
                   .chunk_bytes = 64};
  SymbolicRun run(options);
  EXPECT_EQ(run.run(), "");
  Sent sent;
  sent.to_next = run.sent_bytes(1, 2 % size);
  for (uint32_t from = 0; from < size; ++from) {
    uint64_t all = 0;
    for (uint32_t to = 0; to < size; ++to) all += run.sent_bytes(from, to);
    sent.most = std::max(sent.most, all);
    sent.total += all;
  }
  return sent;
}

TEST(ScheduleBytes, RingMovesTheLeastThatThereIs) {
  for (const uint32_t n : {2U, 3U, 4U, 8U}) {
    const uint64_t count = 96 * n;
    const uint64_t bytes = 4 * count;
    const Sent reduced = sent_by(Collective::kAllReduce, Algorithm::kRing, n, count);
    EXPECT_EQ(reduced.to_next, 2 * bytes * (n - 1) / n);
    EXPECT_EQ(reduced.most, 2 * bytes * (n - 1) / n);
    EXPECT_EQ(sent_by(Collective::kReduceScatter, Algorithm::kRing, n, 96).most,
              bytes * (n - 1) / n);
    EXPECT_EQ(sent_by(Collective::kAllGather, Algorithm::kRing, n, 96).most, bytes * (n - 1) / n);
    for (const Collective chain : {Collective::kBroadcast, Collective::kReduce}) {
      const Sent sent = sent_by(chain, Algorithm::kRing, n, count);
      EXPECT_EQ(sent.most, bytes);
      EXPECT_EQ(sent.total, bytes * (n - 1));
    }
  }
}

TEST(ScheduleBytes, HalvingDoublingMovesAsLittleAsARing) {
  for (const uint32_t n : {2U, 4U, 8U, 16U}) {
    const uint64_t bytes = 4 * 96 * n;
    EXPECT_EQ(sent_by(Collective::kAllReduce, Algorithm::kHalvingDoubling, n, 96 * n).most,
              2 * bytes * (n - 1) / n);
  }
}

// Ranks side by side share a host or a switch. The half went to the farthest rank, so under two
// leaves of two hosts an all-reduce of 64 KiB took half as long again as it does now.
TEST(ScheduleBytes, HalvingDoublingSendsLessTheFartherARankIs) {
  for (const uint32_t n : {4U, 8U, 16U}) {
    SymbolicOptions options;
    options.shape = {.collective = Collective::kAllReduce,
                     .algorithm = Algorithm::kHalvingDoubling,
                     .size = n,
                     .count = 96 * n,
                     .element_bytes = 4,
                     .chunk_bytes = 64};
    SymbolicRun run(options);
    ASSERT_EQ(run.run(), "");
    uint64_t bytes = 4 * options.shape.count;
    for (uint32_t distance = 1; distance < n; distance *= 2, bytes /= 2) {
      for (uint32_t rank = 0; rank < n; ++rank) {
        EXPECT_EQ(run.sent_bytes(rank, rank ^ distance), bytes) << n << " " << rank;
      }
    }
  }
}

// A ring carries nearly twice the data over the border of two leaves; 6 ranks on two leaves paid
// for it, and halving-doubling folds pairs that lie across.
TEST(ScheduleBytes, TwoLevelsSendNoMoreThanTheDataOverTheBorderOfTwoGroups) {
  const auto crossing = [](Algorithm algorithm, uint32_t n) {
    SymbolicOptions options;
    options.shape = {.collective = Collective::kAllReduce,
                     .algorithm = algorithm,
                     .size = n,
                     .group_ranks = n / 2,
                     .count = 96 * n,
                     .element_bytes = 4,
                     .chunk_bytes = 64};
    SymbolicRun run(options);
    EXPECT_EQ(run.run(), "");
    uint64_t bytes = 0;
    for (uint32_t from = 0; from < n / 2; ++from) {
      for (uint32_t to = n / 2; to < n; ++to) bytes += run.sent_bytes(from, to);
    }
    return bytes;
  };
  for (const uint32_t n : {4U, 6U, 12U, 20U}) {
    const uint64_t bytes = uint64_t{4} * 96 * n;
    EXPECT_EQ(crossing(Algorithm::kTwoLevel, n), bytes) << n;
    EXPECT_EQ(crossing(Algorithm::kRing, n), 2 * bytes * (n - 1) / n) << n;
  }
  EXPECT_GT(crossing(Algorithm::kHalvingDoubling, 6), uint64_t{4} * 96 * 6);
}

TEST(ScheduleBytes, TwoLevelsOfAnyGroupsSendAsLittleAsARing) {
  for (const uint32_t group : {1U, 2U, 3U, 4U, 6U, 12U}) {
    SymbolicOptions options;
    options.shape = {.collective = Collective::kAllReduce,
                     .algorithm = Algorithm::kTwoLevel,
                     .size = 12,
                     .group_ranks = group,
                     .count = 96 * 12,
                     .element_bytes = 4,
                     .chunk_bytes = 64};
    SymbolicRun run(options);
    ASSERT_EQ(run.run(), "");
    for (uint32_t from = 0; from < 12; ++from) {
      uint64_t all = 0;
      for (uint32_t to = 0; to < 12; ++to) all += run.sent_bytes(from, to);
      EXPECT_EQ(all, 2U * 4 * 96 * 11) << group;
    }
  }
}

TEST(ScheduleBytes, RecursiveDoublingSendsEverythingInEachRound) {
  EXPECT_EQ(sent_by(Collective::kAllReduce, Algorithm::kRecursiveDoubling, 8, 10).most, 3U * 40);
}

// Half of the data crosses each edge up and down in each tree, so no rank sends more than twice
// all.
TEST(ScheduleBytes, TreesSendEveryHalfOnceUpAndOnceDownEachEdge) {
  for (const uint32_t n : {2U, 5U, 8U, 13U}) {
    const uint64_t bytes = 4 * 96;
    const Sent sent = sent_by(Collective::kAllReduce, Algorithm::kTree, n, 96);
    EXPECT_EQ(sent.total, 2 * bytes * (n - 1));
    EXPECT_LE(sent.most, 2 * bytes);
    EXPECT_EQ(sent_by(Collective::kBroadcast, Algorithm::kTree, n, 96).total, bytes * (n - 1));
  }
}

TEST(ScheduleBytes, PairwiseSendsEachBlockOnce) {
  const Sent sent = sent_by(Collective::kAllToAll, Algorithm::kPairwise, 6, 10);
  EXPECT_EQ(sent.most, 5U * 40);
  EXPECT_EQ(sent.to_next, 40U);
}

// --- trees ---

TEST(DoubleTree, LinksOfParentsAndChildrenAgree) {
  for (uint32_t size = 1; size <= 70; ++size) {
    for (const uint32_t tree : {0U, 1U}) {
      uint32_t edges = 0;
      for (uint32_t rank = 0; rank < size; ++rank) {
        const TreeNode node = tree_node(tree, rank, size);
        EXPECT_EQ(node.parent == TreeNode::kNone, rank == 0);
        for (uint32_t i = 0; i < node.children; ++i, ++edges) {
          EXPECT_EQ(tree_node(tree, node.child[i], size).parent, rank) << size << " " << rank;
        }
      }
      EXPECT_EQ(edges, size - 1);
    }
  }
}

TEST(DoubleTree, InnerNodesOfOneTreeAreLeavesOfTheOther) {
  for (uint32_t size = 3; size <= 70; ++size) {
    uint32_t inner_twice = 0;
    for (uint32_t rank = 1; rank < size; ++rank) {
      const bool both =
          tree_node(0, rank, size).children > 0 && tree_node(1, rank, size).children > 0;
      inner_twice += both ? 1 : 0;
    }
    EXPECT_LE(inner_twice, 1U) << size;
  }
}

}  // namespace
}  // namespace heddle::collectives
