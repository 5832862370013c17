// The cost model of a job's ranks on a fabric that is known: what a site would fit it to.
#pragma once

#include "base/nanos.h"
#include "base/units.h"
#include "collectives/tuning.h"
#include "topology/job.h"

namespace heddle::jobs {

struct FabricCosts {
  Nanos one_way;    // of a full packet, without queueing
  Nanos turn;       // CPU time of a host per driver turn
  BitsPerSec rate;  // of the slowest host's NICs together; 0: not known
};

// Reductions take no time.
collectives::Tuning fabric_tuning(const topology::Job& job, const FabricCosts& costs);

}  // namespace heddle::jobs
