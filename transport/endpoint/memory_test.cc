// Behaviour in memory: the steady state allocates nothing, an idle connection stays within its
// budget, and what bytes_held() says is so.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/testing/sanitized.h"
#include "events/counting_sink.h"
#include "transport/testing/allocations.h"
#include "transport/testing/header_wire.h"
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

class SteadyPairTest : public MemoryTest, public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Congestion, SteadyPairTest, ::testing::Values("cubic", "credits"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(SteadyPairTest, NothingIsAllocated) {
  events::CountingSink sink;
  PairOptions options = counting();
  uint32_t lost_per_million = 30'000;
  options.drop = [&lost_per_million, random = Random(3)](int, const TxBurst&, uint32_t) mutable {
    return random.chance_per_million(lost_per_million);
  };
  options.sink = &sink;
  ConnectionOptions many;
  many.paths = 64;
  many.congestion = GetParam();
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
  EXPECT_GT(end(0).statistics(client_)->segments_retransmitted, 100u);
}

// The state in which a segment's work is measured (segment_work_bench.cc): 64 paths, one segment of
// a thousand lost, counters on.
TEST(SteadyStateTest, LargeAndSmallMessagesAtBothMtusAllocateNothing) {
  for (const uint32_t mtu : {9000u, 1500u}) {
    for (const uint32_t message_bytes : {1u << 20, 4096u, 64u}) {
      for (const uint32_t coalesce : {64u, 1u}) {
        if (message_bytes < 1000 && coalesce == 1) continue;  // a message is one segment
        // Sanitizers change no count, and take minutes for all of them.
        if (kSanitized && ((mtu == 1500) == (coalesce == 1) || message_bytes < 1000)) continue;
        std::array<events::CountingSink, 2> sinks;
        testing::HeaderWireOptions options;
        options.endpoint.max_datagram_bytes = mtu - 28;
        options.endpoint.default_paths = options.endpoint.max_paths = 64;
        options.endpoint.receive_capacity = mebibytes(4);
        options.endpoint.window_limit = kibibytes(256);  // or it grows on: such losses are noise
        options.coalesce = coalesce;
        options.message_bytes = message_bytes;
        options.outstanding = message_bytes < 65536 ? 1024 : 16;
        options.sinks = {&sinks[0], &sinks[1]};
        options.watch = count_allocations;
        testing::HeaderWire wire(options);
        // Warm: with windows as large, as many gaps and as much that ends at once as there will
        // ever be, and for long enough that records of losses are forgotten as fast as made.
        const uint64_t long_enough = message_bytes < 1000 ? 250'000 : 40'000;
        for (const uint32_t loss : {0u, 20'000u, 1'000'000u, 0u, 20'000u, 5000u, 1000u}) {
          wire.set_loss(loss);
          const bool rare = loss == 5000 || loss == 1000;
          wire.run_segments(loss == 1'000'000 ? 500 : rare ? 4 * long_enough : 40'000);
        }
        wire.set_loss(1000);
        const uint64_t repeated = wire.statistics(0).segments_retransmitted;
        const uint64_t before = allocations().count;
        wire.run_segments(50'000);
        EXPECT_EQ(allocations().count, before)
            << "MTU " << mtu << ", messages of " << message_bytes << ", runs of " << coalesce;
        EXPECT_GT(wire.statistics(0).segments_retransmitted, repeated + 20);
        EXPECT_GT(sinks[0].count(events::EventKind::kBurstSent), 1000u);
      }
    }
  }
}

// The budget of an idle connection, besides what the endpoint's pools lend while something is under
// way.
constexpr int64_t budget_of(uint16_t paths) { return 4096 + 128 * int64_t{paths}; }

TEST_F(MemoryTest, AnIdleConnectionIsSmall) {
  for (const uint16_t paths :
       {uint16_t{1}, uint16_t{8}, uint16_t{32}, uint16_t{64}, uint16_t{256}}) {
    PairOptions options = counting();
    options.endpoint.default_paths = options.endpoint.max_paths = paths;
    options.endpoint.discovery = DiscoveryMode::kAuto;  // which keeps nothing of how it found out
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
    EXPECT_LE(each, budget_of(paths));
    EXPECT_GE(told, each * 3 / 4);  // bytes_held() omits the controller and the selector
    EXPECT_LE(told, each);
  }
}

// Traffic in both directions with losses and retransmissions on every path leaves no memory held.
TEST_F(MemoryTest, AConnectionThatIsIdleAgainIsSmallAgain) {
  for (const uint16_t paths : {uint16_t{1}, uint16_t{64}, uint16_t{256}}) {
    PairOptions options = counting();
    options.endpoint.default_paths = options.endpoint.max_paths = paths;
    options.endpoint.max_datagram_bytes = 1472;
    options.endpoint.discovery = DiscoveryMode::kAuto;
    uint32_t lost_per_million = 100'000;
    options.drop = [&lost_per_million, random = Random(3)](int, const TxBurst&, uint32_t) mutable {
      return random.chance_per_million(lost_per_million);
    };
    start(options);
    // The first, with more loss, takes all that the endpoints' pools and queues grow to.
    const auto work = [&](bool counted) {
      for (OperationId i = 0; i < 20; ++i) {
        for (int from = 0; from < 2; ++from) {
          count_allocations(counted);
          ASSERT_TRUE(end(1 - from).post_receive(pair_->now(), {from == 0 ? server_ : client_, 0},
                                                 {memory_[1 - from], 0, 1 << 20}, i));
          ASSERT_TRUE(end(from).post_send(pair_->now(), {from == 0 ? client_ : server_, 0},
                                          {memory_[from], 0, 1 << 20}, i));
          count_allocations(false);
          const size_t ended_before = ended(0).size() + ended(1).size();
          ASSERT_TRUE(pair_->run_until(
              [&] { return ended(0).size() + ended(1).size() == ended_before + 2; }, seconds(9)));
        }
      }
      EXPECT_GT(end(0).statistics(client_)->segments_retransmitted, 50u);
      const uint32_t lost = std::exchange(lost_per_million, 0);
      pair_->run_for(seconds(25));
      lost_per_million = lost;
    };
    work(false);
    lost_per_million = 20'000;
    int64_t each = INT64_MAX;
    for (int i = 0; i < 4; ++i) {  // of some, the pools may grow once more
      const int64_t live = allocations().live_bytes;
      const size_t seen_before = seen(1);
      count_allocations(true);
      client_ = connect();
      count_allocations(false);
      ASSERT_TRUE(pair_->run_until([&] { return seen(1) > seen_before; }, seconds(4)));
      server_ = notice(1).connection;
      work(true);
      each = std::min(each, (allocations().live_bytes - live) / 2);
    }
    std::printf("[ MEASURED ] a connection of %d paths after work: %d bytes\n", paths,
                static_cast<int>(each));
    EXPECT_LE(each, budget_of(paths));
    for (int side = 0; side < 2; ++side) EXPECT_EQ(end(side).records_lent(), 0u);
  }
}

}  // namespace
}  // namespace heddle::transport
