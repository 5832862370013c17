// Link traffic over time: bins contain every byte and the queue peaks, and sampling has no effect
// on the run.
#include "simulator/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "simulator/flow_run.h"
#include "simulator/link_groups.h"
#include "topology/generators.h"
#include "topology/workload_patterns.h"

namespace heddle::simulator {
namespace {

constexpr topology::LinkShape kLink{.rate = gigabits_per_s(100), .mtu_bytes = 4'154};

topology::Topology fabric() {
  return topology::leaf_spine(
      {.leaves = 4, .spines = 4, .hosts_per_leaf = 4, .host_link = kLink, .spine_link = kLink});
}

// Fifteen senders to one receiver.
topology::Workload incast() {
  topology::Workload workload;
  for (uint32_t i = 1; i < 16; ++i) {
    workload.flows.push_back({.id = i, .from = i, .to = 0, .bytes = {200'000}});
  }
  return workload;
}

void watch(FlowRun& run, Series& series, Nanos until = Nanos::never()) {
  for (;;) {
    const bool more = run.advance(std::min(series.due(), until), 10'000);
    if (!run.opening() && run.now() >= series.due() && run.now() < until) {
      series.sample(run.now(), run.totals());
    } else if (!more) {
      break;
    }
  }
  series.sample(run.now(), run.totals());
}

// The last link before host 0.
LinkId into_host_0(const topology::Topology& topology) {
  for (LinkId id = 0; id < 2 * topology.links.size(); ++id) {
    if (end_of(topology, id) == 0) return id;
  }
  return kNoIndex;
}

TEST(SeriesTest, BinsContainEveryByteAndNeverExceedTheLinksCapacity) {
  FlowRun run(fabric(), incast(), {});
  Series series(run.network(), {.bin = micros(10)});
  watch(run, series);
  ASSERT_EQ(run.ended(), 15u);
  EXPECT_EQ(series.bin(), micros(10));
  ASSERT_EQ(series.links().size(), 2 * fabric().links.size());
  const auto bins = static_cast<size_t>((series.length().count + 9'999) / 10'000);
  EXPECT_EQ(series.run_bins().size(), bins);
  for (size_t i = 0; i < series.links().size(); ++i) {
    ASSERT_EQ(series.bins(i).size(), bins);
    uint64_t sum = 0;
    for (const LinkSpan& span : series.bins(i)) {
      EXPECT_LE(span.bytes, 125'000u) << "10 us at 100 Gb/s";
      sum += span.bytes;
    }
    EXPECT_EQ(sum, series.whole(series.links()[i]).bytes);
  }
  const LinkId last = into_host_0(run.network().topology());
  EXPECT_GE(series.whole(last).bytes, 15u * 200'000u);
  EXPECT_GE(series.bins(last)[5].bytes, 124'000u) << "all send to it";
}

TEST(SeriesTest, SamplingDoesNotChangeTheHistory) {
  FlowRun alone(fabric(), incast(), {});
  while (alone.advance(Nanos::never(), 100'000)) {
  }
  FlowRun watched(fabric(), incast(), {});
  Series series(watched.network(), {.bin = nanos(700)});
  watch(watched, series);
  EXPECT_EQ(alone.network().trace_hash(), watched.network().trace_hash());
}

TEST(SeriesTest, CapacityFollowsTheLinksRateChanges) {
  topology::Topology topology = topology::point_to_point(kLink);
  topology.changes = {{.at = micros(100),
                       .link = 0,
                       .kind = topology::LinkChangeKind::kRate,
                       .rate = gigabits_per_s(10)},
                      {.at = micros(300),
                       .link = 0,
                       .kind = topology::LinkChangeKind::kRate,
                       .rate = gigabits_per_s(50)}};
  topology::Workload workload;
  workload.flows.push_back({.id = 1, .from = 0, .to = 1, .bytes = {4'000'000}});
  FlowRun run(topology, workload, {.advertises_receive_rate = true});
  Series series(run.network(), {.bin = micros(50)});
  watch(run, series);
  ASSERT_EQ(run.ended(), 1u);
  // It always had more to send than fits, so each bin is full at its rate.
  const std::span<const LinkSpan> bins = series.bins(0);
  ASSERT_GE(bins.size(), 10u);
  EXPECT_LT(bins[3].bytes, bins[0].bytes / 5) << "a tenth of the rate";
  for (size_t i = 1; i < 10; ++i) {
    EXPECT_GE(series.part_of_rate(0, bins[i].bytes, i), 0.9) << "bin " << i;
    EXPECT_LE(series.part_of_rate(0, bins[i].bytes, i), 1.1) << "bin " << i;
  }
  EXPECT_GE(series.part_of_rate(0, series.whole(0).bytes), 0.9);
  EXPECT_LE(series.part_of_rate(0, series.whole(0).bytes), 1.0);
  EXPECT_NEAR(static_cast<double>(series.busyness(0)),
              1e6 * series.part_of_rate(0, series.whole(0).bytes), 2);
}

TEST(SeriesTest, QueuePeaksAndDropsAreInTheirBins) {
  topology::Topology small = fabric();
  for (topology::Link& link : small.links) link.shape.queue = {40'000};
  FlowRun run(small, incast(), {});
  Series series(run.network(), {.bin = micros(10)});
  watch(run, series);
  const LinkId last = into_host_0(small);
  uint64_t peak = 0;
  uint64_t drops = 0;
  for (const LinkSpan& span : series.bins(last)) {
    peak = std::max(peak, span.queue_peak);
    drops += span.drops;
  }
  EXPECT_LE(peak, 40'000u);
  EXPECT_GT(peak, 40'000u - 4'300u) << "a packet more did not fit";
  EXPECT_EQ(peak, series.whole(last).queue_peak);
  EXPECT_EQ(peak, run.network().counters(last).queued_bytes_max) << "looking forgets nothing";
  EXPECT_EQ(drops, run.network().counters(last).queue_drops);
  EXPECT_GT(drops, 0u);
  EXPECT_EQ(series.bins(last).back().drops, 0u);
  uint64_t repeated = 0;
  for (const RunSpan& span : series.run_bins()) repeated += span.segments_retransmitted;
  EXPECT_EQ(repeated, run.totals().segments_retransmitted);
  EXPECT_EQ(series.whole_run().acked_bytes, 15u * 200'000u);
}

TEST(SeriesTest, AnAutomaticBinGrowsWithTheRun) {
  FlowRun run(fabric(), incast(), {});
  Series series(run.network(), {.bin = Nanos{}, .most_chosen = 8});
  watch(run, series);
  EXPECT_LE(series.run_bins().size(), 8u);
  EXPECT_GE(series.run_bins().size(), 4u);
  const auto bins = static_cast<int64_t>(series.run_bins().size());
  EXPECT_LT(series.bin() * (bins - 1), series.length());
  EXPECT_GE(series.bin() * bins, series.length());
  const LinkId last = into_host_0(run.network().topology());
  uint64_t sum = 0;
  for (const LinkSpan& span : series.bins(last)) sum += span.bytes;
  EXPECT_EQ(sum, series.whole(last).bytes);
}

TEST(SeriesTest, WhenMemoryIsFullTheBusiestLinksAreKept) {
  topology::Topology large = topology::leaf_spine(
      {.leaves = 8, .spines = 4, .hosts_per_leaf = 8, .host_link = kLink, .spine_link = kLink});
  FlowRun run(large, incast(), {});
  Series series(run.network(), {.bin = micros(1), .most = kibibytes(600)});
  watch(run, series);
  EXPECT_EQ(series.links().size(), Series::kLeastLinks);
  EXPECT_EQ(std::count(series.links().begin(), series.links().end(), into_host_0(large)), 1);
  EXPECT_LE(series.links().size() * series.run_bins().size() * sizeof(LinkSpan), 300u * 1024);
  EXPECT_GT(series.bin(), micros(1));
  for (size_t i = 0; i < series.links().size(); ++i) {
    uint64_t sum = 0;
    for (const LinkSpan& span : series.bins(i)) sum += span.bytes;
    EXPECT_EQ(sum, series.whole(series.links()[i]).bytes);
  }
}

TEST(SeriesTest, CutOffPacketsAreNotCountedAsCarried) {
  topology::Topology topology = topology::leaf_spine(
      {.leaves = 2, .spines = 1, .hosts_per_leaf = 1, .host_link = kLink, .spine_link = kLink});
  topology.changes.push_back({.at = micros(20), .link = 0});
  const topology::Workload workload{.flows = {{.id = 1, .from = 0, .to = 1, .bytes = {2'000'000}}}};
  FlowRun run(topology, workload, {});
  Series series(run.network(), {.bin = micros(10)});
  watch(run, series, micros(200));
  ASSERT_EQ(series.bin(), micros(10));
  for (size_t i = 0; i < series.links().size(); ++i) {
    for (const LinkSpan& span : series.bins(i)) EXPECT_LE(span.bytes, 125'000u);
  }
  const LinkId out = run.network().routes().egress(0);
  EXPECT_LE(series.whole(out).bytes, 2u * 125'000u);
}

TEST(LinkGroupsTest, EachSwitchChoosesAmongItsUplinks) {
  FlowRun run(fabric(), incast(), {.paths = 1});
  const std::vector<LinkGroup> groups = link_groups(run.network());
  ASSERT_EQ(groups.size(), 4u) << "spines have one way to each leaf";
  for (uint32_t leaf = 0; leaf < 4; ++leaf) {
    EXPECT_EQ(groups[leaf].switch_index, leaf);
    ASSERT_EQ(groups[leaf].links.size(), 4u);
    for (const LinkId link : groups[leaf].links) {
      EXPECT_EQ(start_of(run.network().topology(), link), 16 + leaf);
    }
  }
}

TEST(PathSharesTest, SumsEqualThePayloadSent) {
  FlowRun run(fabric(), incast(), {.paths = 8});
  while (run.advance(Nanos::never(), 100'000)) {
  }
  uint64_t sum = 0;
  for (const PathShares& each : run.path_shares()) {
    EXPECT_EQ(each.to, 0u);
    EXPECT_EQ(each.payload_bytes.size(), 8u);
    sum = std::accumulate(each.payload_bytes.begin(), each.payload_bytes.end(), sum);
  }
  EXPECT_EQ(sum, run.totals().payload_bytes_sent);
}

}  // namespace
}  // namespace heddle::simulator
