// The dual bound for lengths that chance gives, beside the sum over all routes.
#include "planner/paths/bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/random.h"
#include "planner/paths/demand.h"
#include "topology/generators.h"

namespace heddle::planner {
namespace {

constexpr uint16_t kPaths = 8;
constexpr uint32_t kSpines = 4;
constexpr uint32_t kHostsOfLeaf = 2;
constexpr uint32_t kHosts = 6 * kHostsOfLeaf;

Demand random_demand(Random& random) {
  Demand demand;
  for (uint32_t host = 0; host < kHosts; ++host) demand.endpoints.push_back({.host = host});
  for (uint32_t from = 0; from < kHosts; ++from) {
    const auto to = static_cast<uint32_t>(random.below(kHosts));
    if (to != from) demand.flows.push_back({from, to, random.between(1, 1'000'000)});
  }
  return demand;
}

// With a bundle, uplinks' places do not stand for spines, and routes are searched.
TEST(DualBoundTest, IsTheShortestRoutesOfAllBytes) {
  for (const uint32_t bundle : {1u, 2u}) {
    const topology::Topology topology = topology::leaf_spine({.leaves = kHosts / kHostsOfLeaf,
                                                              .spines = kSpines,
                                                              .hosts_per_leaf = kHostsOfLeaf,
                                                              .bundle = bundle});
    Fabric fabric(topology, {});
    Random random(bundle);
    const Demand demand = random_demand(random);
    LinkScratch scratch(fabric.links(), kNone);
    const RouteTable table(fabric, demand, lanes_of_demand(fabric, demand, kPaths), kPaths,
                           scratch);
    std::vector<double> lengths(fabric.links());
    double capacity = 0;
    for (LinkId link = 0; link < fabric.links(); ++link) {
      lengths[link] = static_cast<double>(random.between(1, 100));
      if (fabric.is_between_switches(link)) capacity += lengths[link] * fabric.rate(link);
    }
    double total = 0;
    for (const FlowDemand& flow : demand.flows) {
      const uint32_t from = fabric.switch_of(flow.from);
      const uint32_t to = fabric.switch_of(flow.to);
      if (from == to) continue;
      double least = std::numeric_limits<double>::infinity();
      for (const LinkId up : fabric.links_from(from)) {
        for (const LinkId down : fabric.links_from(to)) {
          if (fabric.end_of(up) != fabric.end_of(down)) continue;
          least = std::min(least, lengths[up] + lengths[down ^ 1]);
        }
      }
      total += static_cast<double>(flow.bytes) * least;
    }
    const std::array tables = {&table};
    EXPECT_NEAR(DualBound(fabric, tables, {}).with(lengths), total / capacity,
                total / capacity * 1e-9)
        << bundle;
  }
}

}  // namespace
}  // namespace heddle::planner
