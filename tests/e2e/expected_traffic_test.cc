// The formulas for what ranks send are those of the schedules that they follow, byte by byte.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "collectives/data_type.h"
#include "collectives/event_names.h"
#include "collectives/schedule/schedule.h"
#include "insight/expected.h"

namespace heddle::insight {
namespace {

using collectives::Algorithm;
using collectives::Collective;
using collectives::Schedule;
using collectives::Shape;
using collectives::Step;
using collectives::StepKind;

using Sent = std::map<uint32_t, uint64_t>;

Sent by_schedule(const Shape& shape) {
  Sent sent;
  const Schedule schedule(shape);
  for (uint64_t i = 0; i < schedule.steps(); ++i) {
    const Step step = schedule.at(i);
    if (step.kind == StepKind::kSend && step.bytes > 0) sent[step.peer] += step.bytes;
  }
  return sent;
}

Sent by_formula(const CallShape& shape, uint32_t rank) {
  Sent sent;
  const auto shares = expected_sends(shape, rank);
  EXPECT_TRUE(shares.has_value());
  for (const Share& share : shares.value_or(std::vector<Share>())) {
    if (share.bytes > 0) sent[share.peer] += share.bytes;
  }
  return sent;
}

void compare(Collective collective, Algorithm algorithm, uint32_t size, uint64_t count,
             uint32_t root, uint32_t group_ranks) {
  const bool barrier = collective == Collective::kBarrier;
  CallShape call = {.operation = static_cast<events::Operation>(collective),
                    .algorithm = collectives::name_in_events(algorithm),
                    .type = barrier ? events::ElementType::kUint8 : events::ElementType::kFloat,
                    .size = size,
                    .root = root,
                    .count = count,
                    .chunk_bytes = 20,
                    .group_ranks = group_ranks};
  Shape shape;
  shape.collective = collective;
  shape.algorithm = algorithm;
  shape.size = size;
  shape.root = root;
  shape.group_ranks = group_ranks;
  shape.count = count;
  shape.element_bytes = element_bytes(call.type);
  shape.chunk_bytes = call.chunk_bytes;
  shape.burst_payload_bytes = 12;  // they are not recorded: the sums are the same
  for (uint32_t rank = 0; rank < size; ++rank) {
    // A message to itself is copied and follows no schedule.
    if (collective == Collective::kSend && rank == root) continue;
    shape.rank = rank;
    ASSERT_EQ(by_formula(call, rank), by_schedule(shape))
        << name_of(collective) << " by " << name_of(algorithm) << ", rank " << rank << " of "
        << size << ", " << count << " elements, root " << root;
  }
}

TEST(ExpectedTraffic, IsThatOfEverySchedule) {
  for (uint32_t c = 0; c < collectives::kCollectives; ++c) {
    for (uint32_t a = 0; a < collectives::kAlgorithms; ++a) {
      const auto collective = static_cast<Collective>(c);
      const auto algorithm = static_cast<Algorithm>(a);
      if (!can_run(collective, algorithm) || collective == Collective::kAllToAllV) continue;
      for (uint32_t size = 1; size <= 33; ++size) {
        for (const uint64_t count : {0U, 1U, 7U, size, 3 * size + 2, 1000U}) {
          const uint32_t root = (size + static_cast<uint32_t>(count)) * 7 % size;
          for (uint32_t group = 1; group <= size; ++group) {
            if (size % group != 0 || (algorithm != Algorithm::kTwoLevel && group > 1)) continue;
            ASSERT_NO_FATAL_FAILURE(compare(collective, algorithm, size, count, root, group));
          }
        }
      }
    }
  }
}

TEST(ExpectedTraffic, OfARingIsTheTextbooks) {
  const CallShape shape = {.operation = events::Operation::kAllreduce,
                           .algorithm = events::Algorithm::kRing,
                           .type = events::ElementType::kFloat,
                           .size = 4,
                           .root = 0,
                           .count = 1 << 20,
                           .chunk_bytes = 128 << 10};
  EXPECT_EQ(by_formula(shape, 2), (Sent{{3, uint64_t{2} * (4 << 20) * 3 / 4}}));
}

TEST(ExpectedTraffic, OfWhatNoCommunicatorHasIsNotKnown) {
  CallShape shape = {.operation = events::Operation::kAllreduce, .size = 4, .count = 8};
  EXPECT_TRUE(expected_sends(shape, 0).has_value());
  EXPECT_FALSE(expected_sends(shape, 4).has_value());
  shape.root = 9;
  EXPECT_FALSE(expected_sends(shape, 0).has_value());
  shape.root = 0;
  shape.size = 0;
  EXPECT_FALSE(expected_sends(shape, 0).has_value());
  shape.size = 1U << 31;
  EXPECT_FALSE(expected_sends(shape, 0).has_value());
  shape.size = 4;
  shape.operation = events::Operation::kAlltoallv;
  EXPECT_FALSE(expected_sends(shape, 0).has_value());
  shape.operation = static_cast<events::Operation>(200);
  EXPECT_FALSE(expected_sends(shape, 0).has_value());
  shape.operation = events::Operation::kAllreduce;
  shape.type = static_cast<events::ElementType>(200);
  EXPECT_FALSE(expected_sends(shape, 0).has_value());
  shape.type = events::ElementType::kInt8;
  shape.algorithm = static_cast<events::Algorithm>(200);
  EXPECT_FALSE(expected_sends(shape, 0).has_value());
}

}  // namespace
}  // namespace heddle::insight
