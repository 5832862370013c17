// See slowed_fabric.h.
#include "apps/cli/plan/advise/slowed_fabric.h"

#include <algorithm>
#include <cmath>

#include "apps/cli/plan/params.h"

namespace heddle::cli {
namespace {

constexpr uint64_t kLeastRate = 1'000;  // that a file can name

}  // namespace

double slowing_of(const topology::Topology& topology) {
  double sum = 0;
  for (const topology::Link& link : topology.links) {
    const bool of_host =
        link.a.kind == topology::NodeKind::kNic || link.b.kind == topology::NodeKind::kNic;
    if (of_host) sum += static_cast<double>(link.shape.rate.count);
  }
  return std::max(1.0, std::ceil(sum / params::plan::kCarriedBits_per_s));
}

topology::Topology slowed(topology::Topology topology, double slowing) {
  for (topology::Link& link : topology.links) {
    const double rate = static_cast<double>(link.shape.rate.count) / slowing;
    if (rate > 0) link.shape.rate.count = std::max(kLeastRate, static_cast<uint64_t>(rate));
  }
  return topology;
}

}  // namespace heddle::cli
