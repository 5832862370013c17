// Script: the fabric of a run, and the faults of its links and hosts over time. All faults end at
// Options::faults_for, when every link works again, except one that stays down, and every host
// runs.
#pragma once

#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "simulator/world.h"
#include "tests/vopr/options.h"
#include "topology/topology.h"

namespace heddle::vopr {

struct Script {
  std::vector<topology::LinkChange> links;
  std::vector<simulator::ProcessChange> hosts;  // ordered by time; one process each
};

// The fabric, with its links' steady faults.
topology::Topology make_topology(const Options& options);
Script make_script(const Options& options, const topology::Topology& topology);

}  // namespace heddle::vopr
