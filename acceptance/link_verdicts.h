// Link verdicts: which links of a fabric are not as they should be, from what they carried under
// load: their highest rates, drops by full queues, and errors. A pure function.
#pragma once

#include <map>
#include <vector>

#include "acceptance/expectations.h"
#include "acceptance/fabric_bounds.h"
#include "acceptance/link_names.h"
#include "acceptance/report.h"
#include "topology/topology.h"

namespace heddle::acceptance {

// What a link carried, by direction.
struct CarriedLoad {
  LinkLoad forward;
  LinkLoad backward;
  uint64_t forward_packets = 0;
  uint64_t backward_packets = 0;
  bool known = true;  // false: no place that has its counters is read
};

struct LinkVerdicts {
  std::vector<Row> rows;           // those that are wrong, and one of all others
  std::vector<uint32_t> named;     // links, ascending
  uint32_t judged_directions = 0;  // had enough load to judge their rate
  double least_share = 0;          // of what a judged direction could carry; 0: none is fine
  double errors_per_million = 0;   // the most of a direction
};

// The most that a round brings to each direction of a link, in bits/s, if every link has its rate.
// A queue may be full for a moment, of a burst that a slower link behind it has already made
// shorter. A direction that no flow takes is not there.
std::map<LinkUse, double> offered_by(const topology::Topology& topology,
                                     const std::vector<std::vector<HostPair>>& rounds);

// `loads` by link index, of flows in these rounds; links that are not known are not judged. A
// direction is slow if its highest rate stayed
// below the expected share of its rate, or of what the flows can bring to it where that is less,
// although its queue was full, or although its peers (the same tiers, the same rate) carried more,
// or if a link of these tiers is above its rate and the two have each other's. Rows name links by
// their labels.
LinkVerdicts judge_links(const topology::Topology& topology, const std::vector<CarriedLoad>& loads,
                         const Expectations& expectations,
                         const std::vector<std::vector<HostPair>>& rounds,
                         const LinkLabel& label_of);

}  // namespace heddle::acceptance
