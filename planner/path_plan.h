// PathPlan: the entropies and their shares that each flow of a demand takes, and how loaded links
// are with it, without it, and at best. Input: demand.h and a topology; `heddle plan` writes it,
// the transport's selector `plan` follows it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "planner/paths/demand.h"
#include "planner/paths/params.h"
#include "topology/topology.h"

namespace heddle::planner {

// The shares of a flow's paths sum to this, per million.
inline constexpr uint32_t kWholeShare = 1'000'000;

struct PlannedPath {
  uint16_t path = 0;
  uint32_t share_per_million = 0;  // of the flow's bytes

  bool operator==(const PlannedPath&) const = default;
};

struct PlannedFlow {
  FlowDemand demand;
  std::vector<PlannedPath> paths;  // by path; none: no entropy leads there
};

// The time that the most loaded of the links with bytes of the plan takes for all its bytes, ns.
struct LongestTimes {
  double between_switches = 0;
  double of_nics = 0;

  double longest() const { return between_switches > of_nics ? between_switches : of_nics; }
};

// Why no choice of paths can make the flows end earlier.
enum class NoGain : uint8_t {
  kGains,     // it can: the plan is better than ECMP
  kNics,      // NICs' own links take longest, with and without a plan
  kOneRoute,  // no flow has a choice
  kEven,      // ECMP happens to place the flows as well
};

struct PathPlan {
  std::vector<PlannedFlow> flows;
  uint16_t paths = 0;     // of a connection
  uint32_t parts = 0;     // most paths that a lane of a flow takes
  bool colored = false;   // placed by an edge coloring
  LongestTimes ecmp;      // each lane of a flow on its first path
  LongestTimes spraying;  // each lane evenly on all paths
  LongestTimes planned;
  double bound_between = 0;  // lower bound of any routes, links between switches, ns
  uint64_t unreachable = 0;  // flows' lanes without a route
  NoGain no_gain = NoGain::kGains;
  uint64_t kept = 0;  // flows that a re-plan left as they were

  // A lower bound of the longest time with any routes.
  double bound() const { return bound_between > planned.of_nics ? bound_between : planned.of_nics; }
};

struct PathPlanOptions {
  uint16_t paths = 64;                       // entropies of a connection, 1 to 256
  uint32_t most_parts = params::kMostParts;  // paths that a lane may take at once
  std::vector<uint32_t> failed_links;        // cables that are down
  // At once, where lanes can be planned in groups; 0: as many as the process has cores. The plan is
  // the same with any number.
  uint32_t threads = 0;
};

// Errors: kInvalid where switches of the topology do not hash (they spray or route adaptively), or
// the demand has no flows between two hosts.
Result<PathPlan> plan_paths(const topology::Topology& topology, const Demand& demand,
                            const PathPlanOptions& options);

// Measures all flows of a plan on the fabric without the failed links: its times, those of ECMP and
// of spraying, the bound, and whether there is a gain. After a re-plan these are of the moved flows
// until then. `plan` must be one of the demand, with the options' paths.
void measure_plan(const topology::Topology& topology, const Demand& demand,
                  const PathPlanOptions& options, PathPlan& plan);

}  // namespace heddle::planner
