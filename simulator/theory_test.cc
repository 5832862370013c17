// The simulator compared with theory: queues and utilization of links with regular and random
// arrivals, and the max-min fair shares of flows.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <vector>

#include "simulator/flow_run.h"
#include "simulator/link.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

constexpr uint32_t kWireBytes = 1'250;
constexpr Nanos kService = micros(10);  // of a packet, at 1 Gb/s

// Packets of one size that arrive at a link at given times.
class Queue {
 public:
  Queue() : link_({.rate = gigabits_per_s(1), .delay = kDelay, .queue = mebibytes(64)}) {}

  void arrive(Nanos now) {
    drain(now);
    queued_packets_ += static_cast<double>(link_.queued_bytes(now)) / kWireBytes;
    const PacketId id = packets_.lend(40, kWireBytes - kWireOverheadBytes - 40, 0, 0);
    ASSERT_EQ(link_.offer(now, id, packets_, false, random_), Link::Verdict::kTaken);
    arrived_at_.push_back(now);
    ++arrivals_;
  }
  void drain(Nanos until) {
    while (link_.next_packet() != kNoIndex && link_.next_at() <= until) {
      const Nanos now = link_.next_at();
      packets_.give_back(link_.pop(now));
      waited_ns_ += static_cast<double>((now - kDelay - kService - arrived_at_.front()).count);
      arrived_at_.pop_front();
    }
  }
  // Means over all packets.
  double wait_ns() const { return waited_ns_ / arrivals_; }
  double found_packets() const { return queued_packets_ / arrivals_; }
  double utilisation(Nanos now) {
    const auto possible = static_cast<double>(now.count) / 8.0;
    return static_cast<double>(link_.carried_bytes(now)) / possible;
  }

 private:
  static constexpr Nanos kDelay = micros(3);

  PacketStore packets_;
  Random random_{1};
  Link link_;
  std::deque<Nanos> arrived_at_;
  double waited_ns_ = 0;
  double queued_packets_ = 0;
  double arrivals_ = 0;
};

// D/D/1: nothing waits up to full load; in a burst each packet waits for those before it.
TEST(Theory, RegularArrivalsDoNotWait) {
  Queue queue;
  for (int i = 0; i < 10'000; ++i) queue.arrive(i * kService);
  queue.drain(Nanos::never());
  EXPECT_EQ(queue.wait_ns(), 0.0);
}

TEST(Theory, InABurstEachPacketWaitsForThoseBeforeIt) {
  Queue queue;
  constexpr int kBurst = 16;
  for (int i = 0; i < 100 * kBurst; ++i) queue.arrive(i / kBurst * (kBurst * kService));
  queue.drain(Nanos::never());
  EXPECT_EQ(queue.wait_ns(), (kBurst - 1) / 2.0 * static_cast<double>(kService.count));
}

// M/D/1 (Pollaczek-Khinchine): a packet waits rho / (2 (1 - rho)) service times, and finds rho +
// rho^2 / (2 (1 - rho)) packets. 400,000 packets are within 5% of it.
TEST(Theory, RandomArrivalsWaitAsThePollaczekKhinchineFormulaPredicts) {
  for (const double load : {0.3, 0.5, 0.8, 0.9}) {
    Queue queue;
    Random random(7);
    Nanos now;
    for (int i = 0; i < 400'000; ++i) {
      const double uniform = (static_cast<double>(random.next() >> 11) + 1) * 0x1p-53;
      const double gap_ns = -std::log(uniform) * static_cast<double>(kService.count) / load;
      now += nanos(std::llround(gap_ns));
      queue.arrive(now);
    }
    EXPECT_NEAR(queue.utilisation(now), load, 0.01 * load);
    queue.drain(Nanos::never());
    const double services = load / (2 * (1 - load));
    EXPECT_NEAR(queue.wait_ns() / static_cast<double>(kService.count), services, 0.05 * services)
        << load;
    const double found = load + load * services;
    EXPECT_NEAR(queue.found_packets(), found, 0.05 * found) << load;
  }
}

// Three flows share the link between two leaves, two share another receiver's link, one has its
// links alone: max-min fairness gives them a third, a half and a whole link. Their sizes are chosen
// so that all would end together; no flow ends more than 15% away from that. Each has one
// bottleneck: a flow across two gets less than its fair share under every end-to-end control.
TEST(Theory, FlowsShareLinksByMaxMinFairness) {
  constexpr topology::LinkShape kLink{
      .rate = gigabits_per_s(10), .queue = kibibytes(256), .ecn_threshold = kibibytes(64)};
  const topology::Topology topology = topology::leaf_spine(
      {.leaves = 2, .spines = 1, .hosts_per_leaf = 6, .host_link = kLink, .spine_link = kLink});
  constexpr uint64_t kSixth = 10'000'000;
  struct Wanted {
    uint32_t from, to;
    uint64_t sixths;
  };
  constexpr Wanted kFlows[] = {{0, 6, 2}, {1, 7, 2}, {2, 8, 2}, {9, 11, 3}, {10, 11, 3}, {3, 4, 6}};
  topology::Workload workload;
  for (const Wanted& flow : kFlows) {
    workload.flows.push_back({.id = workload.flows.size(),
                              .from = flow.from,
                              .to = flow.to,
                              .bytes = {flow.sixths * kSixth}});
  }
  const double ideal_us = 6 * kSixth * 8 / 10e9 * 1e6;
  for (const char* congestion : {"cubic", "dctcp"}) {
    FlowRun run(topology, workload, {.congestion = congestion, .paths = 1});
    while (run.advance(seconds(2), 1'000'000)) {
    }
    for (const FlowOutcome& outcome : run.outcomes()) {
      const double took_us = static_cast<double>((outcome.received - outcome.started).count) / 1e3;
      EXPECT_NEAR(took_us, ideal_us, 0.15 * ideal_us) << congestion;
    }
  }
}

}  // namespace
}  // namespace heddle::simulator
