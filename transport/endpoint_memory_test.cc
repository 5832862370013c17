// Behaviour in memory: the steady state allocates nothing, an idle connection stays within its
// budget, and what bytes_held() says is so.
#include <gtest/gtest.h>

#include <cstdio>

#include "events/counting_sink.h"
#include "transport/testing/allocations.h"
#include "transport/testing/pair_fixture.h"

namespace heddle::transport {
namespace {

using testing::allocations;
using testing::count_allocations;
using testing::PairOptions;

class MemoryTest : public testing::PairFixture {
 protected:
  // Options by which allocations within the endpoints, and only those, are counted.
  static PairOptions counting() {
    PairOptions options;
    options.watch = count_allocations;
    return options;
  }
};

TEST_F(MemoryTest, InTheSteadyStateNothingIsAllocated) {
  events::CountingSink sink;
  PairOptions options = counting();
  uint32_t lost_per_million = 30'000;
  options.drop = [&lost_per_million, random = Random(3)](int, const TxBurst&, uint32_t) mutable {
    return random.chance_per_million(lost_per_million);
  };
  options.sink = &sink;
  ConnectionOptions many;
  many.paths = 64;
  start(options, many);
  OperationId done = 0;
  const auto exchange_many = [&](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      count_allocations(true);
      for (OperationId i = 0; i < 8; ++i) {
        const uint64_t bytes = i % 2 == 0 ? 100'000 : 1000;
        receive(i * 100'000, bytes, done + i, static_cast<ChannelId>(i % 3));
        send(i * 100'000, bytes, done + i, static_cast<ChannelId>(i % 3));
      }
      count_allocations(false);
      ASSERT_TRUE(run_until_completed(8, 8));
      for (int side = 0; side < 2; ++side) pair_->completions[side].clear();
      done += 8;
    }
  };
  exchange_many(500);  // warm, with more loss than later: every path has seen a gap
  lost_per_million = 1000;
  exchange_many(100);
  const uint64_t before = allocations().count;
  EXPECT_GT(before, 0u);
  exchange_many(1000);
  EXPECT_EQ(allocations().count, before);
  EXPECT_GT(sink.count(events::EventKind::kBurstSent), 1000u);
  EXPECT_GT(end(0).statistics(client_)->segments_repeated, 100u);
}

// The budget is 4 KiB and 128 bytes a path, besides what the endpoint's pools lend. It is kept up
// to the default number of paths; beyond, a path that is used both ways takes more, and the bound
// here only shrinks.
TEST_F(MemoryTest, AnIdleConnectionIsSmall) {
  struct Case {
    uint16_t paths;
    int64_t budget;
  };
  for (const auto& [paths, budget] :
       {Case{1, 4096 + 128}, Case{8, 4096 + 8 * 128}, Case{64, 4096 + 64 * 320}}) {
    PairOptions options = counting();
    options.endpoint.default_paths = paths;
    start(options);
    ASSERT_TRUE(exchange(1));
    const int64_t live = allocations().live_bytes;
    const size_t held = end(0).bytes_held() + end(1).bytes_held();
    constexpr int kMore = 64;
    for (int i = 0; i < kMore; ++i) {
      count_allocations(true);
      connect();
      count_allocations(false);
      pair_->run_for(millis(50));  // one after another, so that they share what the pools lend
    }
    ASSERT_EQ(end(0).connections(), kMore + 1u);
    const int64_t each = (allocations().live_bytes - live) / (2 * kMore);
    const auto told =
        static_cast<int64_t>(end(0).bytes_held() + end(1).bytes_held() - held) / (2 * kMore);
    std::printf("[ MEASURED ] an idle connection of %d paths: %d bytes (%d told)\n", paths,
                static_cast<int>(each), static_cast<int>(told));
    EXPECT_LE(each, budget);
    EXPECT_GE(told, each * 8 / 10);  // bytes_held() tells nearly all of it
    EXPECT_LE(told, each);
  }
}

}  // namespace
}  // namespace heddle::transport
