// Distant sites: one connection fills a link of 100 Gb/s at any distance, and data that arrives
// between two receives fits into the receiver's socket. Figures are for a span after the start;
// `heddle sim` with the same topology shows whole transfers.
#include <gtest/gtest.h>

#include <string>

#include "simulator/flow_run.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

using topology::Topology;
using topology::Workload;

constexpr BitsPerSec kRate = gigabits_per_s(100);
constexpr uint32_t kMtu = 9000;
constexpr uint64_t kDebian = 106'496;  // of a socket of 212,992 bytes, as datapath/udp counts

Topology road(Nanos round_trip, uint32_t loss_per_million) {
  Topology made =
      topology::point_to_point({.rate = kRate, .delay = round_trip / 2, .mtu_bytes = kMtu});
  made.links[0].forward.loss_per_million = loss_per_million;
  made.links[0].backward.loss_per_million = loss_per_million;
  return made;
}

// More than any test sends.
Workload endless() { return {.flows = {{.id = 1, .from = 0, .to = 1, .bytes = gibibytes(64)}}}; }

void advance(FlowRun& run, Nanos until) {
  while (run.advance(until, 100'000)) {
  }
}

double payload_rate(FlowRun& run, Nanos from, Nanos until) {
  advance(run, from);
  const uint64_t before = run.totals().payload_bytes_acked;
  advance(run, until);
  const auto acked = static_cast<double>(run.totals().payload_bytes_acked - before);
  return acked * 8 / static_cast<double>((until - from).count);
}

// The payload's share of the link rate after headers.
double payload_capacity(const FlowRun& run) {
  return 100.0 * run.totals().segment_bytes / (kMtu + kWireOverheadBytes - kIpUdpBytes);
}

struct Case {
  Nanos round_trip;
  uint32_t loss_per_million;
};

class LongRoadTest : public ::testing::TestWithParam<Case> {};

// Regression: only a quarter of the socket buffer was in flight: 4 MiB, a tenth of this link at 3
// ms.
TEST_P(LongRoadTest, OneConnectionReachesNineTenthsOfPayloadCapacityWithinItsMemory) {
  const Case& given = GetParam();
  FlowRun run(road(given.round_trip, given.loss_per_million), endless(), {});
  const Nanos from = 20 * given.round_trip + millis(2);
  const double rate = payload_rate(run, from, from + 10 * given.round_trip + millis(20));
  EXPECT_GE(rate, 0.9 * payload_capacity(run));
  EXPECT_EQ(run.wrong(), 0u);
  EXPECT_EQ(run.network().fates()[Fate::kReceiveQueueFull], 0u);
  // One record per segment for twice the bandwidth-delay product, and a connection's other memory.
  EXPECT_LE(run.transport_bytes_held(0), mebibytes(8).count) << "of the sender";
  EXPECT_LE(run.transport_bytes_held(1), mebibytes(1).count) << "of the receiver";
}

INSTANTIATE_TEST_SUITE_P(Distances, LongRoadTest,
                         ::testing::Values(Case{micros(100), 0}, Case{micros(100), 100},
                                           Case{millis(1), 0}, Case{millis(1), 100},
                                           Case{millis(3), 0}, Case{millis(3), 100},
                                           Case{millis(10), 0}, Case{millis(10), 100}),
                         [](const ::testing::TestParamInfo<Case>& each) {
                           return std::to_string(each.param.round_trip.count / 1000) + "us_loss" +
                                  std::to_string(each.param.loss_per_million) + "ppm";
                         });

// The limit used to be 0.28 Gb/s: 106,496 bytes per 3 ms.
TEST(LongRoadSocketTest, DataBetweenTwoReceivesFitsADebianSocketOver300Km) {
  FlowRunOptions options;
  options.receive_capacity = {kDebian};
  options.turn_time = micros(200);  // a host that is busy with other work
  FlowRun run(road(millis(3), 0), endless(), options);
  EXPECT_GE(payload_rate(run, millis(300), millis(600)), 0.8);
  EXPECT_EQ(run.network().fates()[Fate::kReceiveQueueFull], 0u);
}

TEST(LongRoadSocketTest, SendersShareADebianSocketOver300Km) {
  topology::LinkShape link{.rate = kRate, .delay = micros(750), .mtu_bytes = kMtu};
  const Topology star = topology::leaf_spine(
      {.leaves = 1, .spines = 1, .hosts_per_leaf = 5, .host_link = link, .spine_link = link});
  Workload workload;
  for (uint32_t i = 1; i < 5; ++i) {
    workload.flows.push_back({.id = i, .from = i, .to = 0, .bytes = gibibytes(64)});
  }
  FlowRunOptions options;
  options.receive_capacity = {kDebian};
  options.turn_time = micros(100);
  FlowRun run(star, workload, options);
  // Each may fill the socket with its first window, before the receiver knows the senders.
  advance(run, millis(100));
  const uint64_t dropped = run.network().fates()[Fate::kReceiveQueueFull];
  EXPECT_GE(payload_rate(run, millis(300), millis(600)), 0.8);
  EXPECT_EQ(run.network().fates()[Fate::kReceiveQueueFull], dropped);
}

// Regression: it was rejected with "a flow has 1 byte to 1 GiB".
TEST(LongRoadSocketTest, AFlowAboveAGibibyteArrivesAsOneFlow) {
  const Workload workload{
      .flows = {{.id = 1, .from = 0, .to = 1, .bytes = {gibibytes(2).count + 5}}}};
  FlowRun run(road(micros(10), 0), workload, {});
  advance(run, seconds(1));
  ASSERT_EQ(run.ended(), 1u);
  EXPECT_EQ(run.wrong(), 0u);
  EXPECT_EQ(run.totals().payload_bytes_acked, gibibytes(2).count + 5);
  const Nanos took = run.outcomes()[0].received - run.outcomes()[0].started;
  EXPECT_GE(took, transmit_time({gibibytes(2).count + 5}, kRate));
  EXPECT_LE(took, transmit_time({gibibytes(2).count + 5}, kRate) * 11 / 10);
}

}  // namespace
}  // namespace heddle::simulator
