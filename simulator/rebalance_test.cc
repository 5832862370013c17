// Flows that a plan spreads over shared uplinks move payload off one that others load, and back
// once the load has gone, at once and without oscillation; where nothing changes they keep the
// plan's shares.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/testing/sanitized.h"
#include "simulator/flow_run.h"
#include "topology/ecmp.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

constexpr uint32_t kSeeds = kSanitized ? 1 : 4;
constexpr uint32_t kSpines = 4;
constexpr uint32_t kHosts = 8;  // of each leaf
constexpr uint16_t kPaths = 64;
constexpr uint32_t kWhole = 1'000'000;
constexpr Nanos kWindow = millis(1);
// The share of a loaded uplink is another one when it differs by more than this from the last that
// was counted: a sixth of what the plan sets.
constexpr double kBand = 0.04;
constexpr double kPlanned = 1.0 / kSpines;

// A load that does not yield appears and disappears at these times; it leaves kLeft of an uplink of
// 100 Gb/s.
constexpr int64_t kLoadedMillis[][2] = {{40, 80}, {120, 160}, {200, 240}};
constexpr int64_t kLeft_gbps = 20;
constexpr int64_t kLongMillis = 280;
// After each such change the shares have this long to settle.
constexpr int64_t kSettleMillis = 3;

// By flow and window: the share of payload that crosses the first spine, and the flow's rate.
struct Course {
  std::vector<std::vector<double>> shares;
  std::vector<std::vector<double>> rates_gbps;
};

// The first path that takes each spine, with its share; `spread` by spine, in millionths.
std::vector<transport::PlannedShare> shares_of(const topology::Topology& topology, uint32_t from,
                                               uint32_t to, const std::vector<uint32_t>& spread) {
  std::vector<transport::PlannedShare> shares(kSpines);
  for (uint16_t path = kPaths; path-- > 0;) {
    const topology::EcmpKey key{from, to, static_cast<uint16_t>(topology::kFirstSourcePort + path),
                                topology::kFlowPort};
    const uint32_t spine = topology::ecmp_choice(kSpines, topology.switches[0].hash_seed, key);
    shares[spine] = {path, spread[spine]};
  }
  return shares;
}

// The cable between the first leaf and the first spine.
uint32_t first_uplink(const topology::Topology& topology) {
  const auto found =
      std::find_if(topology.links.begin(), topology.links.end(), [](const topology::Link& link) {
        return link.a.kind == topology::NodeKind::kSwitch &&
               link.b.kind == topology::NodeKind::kSwitch &&
               std::min(link.a.index, link.b.index) == 0 &&
               std::max(link.a.index, link.b.index) == 2;
      });
  return static_cast<uint32_t>(found - topology.links.begin());
}

struct Scene {
  uint32_t planned = 2;       // flows, from the first hosts of a leaf to those of the other one
  bool loaded = false;        // kLoadedMillis
  uint32_t beside = 0;        // flows that cross the first spine alone, from 40 ms on
  int64_t until_millis = 80;  // the run's end
};

Course course_of(const Scene& scene, uint64_t seed) {
  topology::LeafSpineShape shape{.leaves = 2, .spines = kSpines, .hosts_per_leaf = kHosts};
  shape.hash_seed = seed;
  topology::Topology topology = topology::leaf_spine(shape);
  const uint32_t uplink = first_uplink(topology);
  for (const auto& [from, to] : kLoadedMillis) {
    if (!scene.loaded) break;
    for (const auto& [at, rate] : {std::pair(from, kLeft_gbps), std::pair(to, int64_t{100})}) {
      topology.changes.push_back({.at = millis(at),
                                  .link = uplink,
                                  .kind = topology::LinkChangeKind::kRate,
                                  .rate = gigabits_per_s(rate)});
    }
  }
  Random random(seed);
  topology::Workload workload;
  FlowRunOptions options{.seed = seed, .selector = "plan", .paths = kPaths};
  for (uint32_t i = 0; i < scene.planned + scene.beside; ++i) {
    const Nanos offset = nanos(static_cast<int64_t>(random.below(300'000)));
    const bool planned = i < scene.planned;
    workload.flows.push_back({.id = i + 1,
                              .from = i,
                              .to = kHosts + i,
                              .bytes = gibibytes(64),
                              .start = planned ? offset : millis(40) + offset});
    options.plan[{i, kHosts + i}] =
        shares_of(topology, i, kHosts + i,
                  planned ? std::vector<uint32_t>(kSpines, kWhole / kSpines)
                          : std::vector<uint32_t>{kWhole, 0, 0, 0});
  }
  FlowRun run(topology, workload, options);
  Course course{std::vector<std::vector<double>>(scene.planned),
                std::vector<std::vector<double>>(scene.planned)};
  std::vector<double> all_before(scene.planned);
  std::vector<double> first_before(scene.planned);
  for (Nanos at = kWindow; at <= millis(scene.until_millis); at += kWindow) {
    while (run.advance(at, 100'000)) {
    }
    for (const PathShares& each : run.path_shares()) {
      if (each.from >= scene.planned) continue;
      double all = 0;
      for (const uint64_t bytes : each.payload_bytes) all += static_cast<double>(bytes);
      const uint16_t path = options.plan[{each.from, each.to}][0].path;
      const auto first = static_cast<double>(each.payload_bytes[path]);
      const double sent = all - std::exchange(all_before[each.from], all);
      const double taken = first - std::exchange(first_before[each.from], first);
      course.shares[each.from].push_back(sent > 0 ? taken / sent : 0);
      course.rates_gbps[each.from].push_back(8 * sent / static_cast<double>(kWindow.count));
    }
  }
  return course;
}

// How often the share became another one within these windows.
int changes(const std::vector<double>& shares, int64_t from, int64_t to) {
  int count = 0;
  double counted = shares[static_cast<size_t>(from)];
  for (int64_t i = from; i < to; ++i) {
    const double share = shares[static_cast<size_t>(i)];
    if (std::abs(share - counted) <= kBand) continue;
    counted = share;
    ++count;
  }
  return count;
}

// Means of ten windows each.
std::vector<double> means_of_ten(const std::vector<double>& windows) {
  std::vector<double> means(windows.size() / 10);
  for (size_t i = 0; i < 10 * means.size(); ++i) means[i / 10] += windows[i] / 10;
  return means;
}

std::string text(uint64_t seed, size_t flow, int64_t at) {
  return "seed " + std::to_string(seed) + ", flow " + std::to_string(flow) + ", " +
         std::to_string(at) + " ms";
}

void expect_settled(const std::vector<double>& shares, int64_t from, int64_t to, double share,
                    const std::string& where) {
  EXPECT_EQ(changes(shares, from, to), 0) << where;
  for (int64_t i = from; i < to; ++i) {
    EXPECT_NEAR(shares[static_cast<size_t>(i)], share, 0.02) << where << ", window " << i;
  }
}

// Three times the load comes and goes. Each time the shares move once, within kSettleMillis, to
// what the load leaves, with one step between at most; the flows' rates stay what they were.
TEST(RebalanceTest, SharesFollowALoadThatDoesNotYieldAndReturn) {
  for (const uint32_t flows : {2u, 3u}) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Course course =
          course_of({.planned = flows, .loaded = true, .until_millis = kLongMillis}, seed);
      for (size_t flow = 0; flow < flows; ++flow) {
        const std::vector<double>& shares = course.shares[flow];
        const double left = 1e-2 * static_cast<double>(kLeft_gbps) / flows;
        int64_t since = 10;
        for (const auto& [from, to] : kLoadedMillis) {
          const std::string where = text(seed, flow, from);
          expect_settled(shares, since, from, kPlanned, where);
          EXPECT_GE(changes(shares, from - 1, from + kSettleMillis), 1) << where;
          EXPECT_LE(changes(shares, from - 1, from + kSettleMillis), 2) << where;
          expect_settled(shares, from + kSettleMillis, to, left, where);
          EXPECT_GE(changes(shares, to - 1, to + kSettleMillis), 1) << where;
          EXPECT_LE(changes(shares, to - 1, to + kSettleMillis), 2) << where;
          since = to + kSettleMillis;
        }
        expect_settled(shares, since, kLongMillis, kPlanned, text(seed, flow, since));
        const std::vector<double>& rates = course.rates_gbps[flow];
        EXPECT_GE(*std::min_element(rates.begin() + 10, rates.end()), 95) << text(seed, flow, 0);
      }
    }
  }
}

// Each of six flows gets a sixth of the uplink by its congestion control, which is all that holds
// the planned ones up: the shares settle at or below the plan's, and the flows keep at least what
// a quarter on that uplink allows. Means of 10 ms: the shares of single ones vary with losses.
TEST(RebalanceTest, SharesSettleBesideALoadThatYields) {
  constexpr int64_t kEnd = 160;
  constexpr double kFairRate_gbps = 100.0 / 6 * kSpines;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Course course = course_of({.planned = 2, .beside = 4, .until_millis = kEnd}, seed);
    for (size_t flow = 0; flow < 2; ++flow) {
      const std::vector<double> shares = means_of_ten(course.shares[flow]);
      const std::vector<double> rates = means_of_ten(course.rates_gbps[flow]);
      EXPECT_EQ(changes(shares, 1, 4), 0) << text(seed, flow, 10);
      EXPECT_LE(changes(shares, 3, 7), 2) << text(seed, flow, 40);
      EXPECT_EQ(changes(shares, 7, kEnd / 10), 0) << text(seed, flow, 70);
      EXPECT_LE(*std::max_element(shares.begin(), shares.end()), kPlanned + 0.02)
          << text(seed, flow, 0);
      double mean = 0;
      for (size_t i = 7; i < rates.size(); ++i) {
        mean += rates[i] / static_cast<double>(rates.size() - 7);
      }
      EXPECT_GE(mean, 0.9 * kFairRate_gbps) << text(seed, flow, 70);
    }
  }
}

// Four flows fill the uplinks, two half of them.
TEST(RebalanceTest, EqualLoadsFromTheStartMoveNothing) {
  for (const uint32_t flows : {2u, 4u}) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Course course = course_of({.planned = flows, .until_millis = 160}, seed);
      for (size_t flow = 0; flow < flows; ++flow) {
        expect_settled(course.shares[flow], 10, 160, kPlanned, text(seed, flow, 10));
      }
    }
  }
}

}  // namespace
}  // namespace heddle::simulator
