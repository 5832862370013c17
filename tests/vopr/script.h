// Script: the fabric of a run, and what happens to its links and hosts, when. All of it stops at
// Options::faults_for, when every link but one that stays down is whole again and every host runs.
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
  std::vector<simulator::ProcessChange> hosts;  // by time; a process each
};

// With its links' steady faults.
topology::Topology make_topology(const Options& options);
Script make_script(const Options& options, const topology::Topology& topology);

}  // namespace heddle::vopr
