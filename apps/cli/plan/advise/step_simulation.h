// A step of a job, simulated a few times in sequence: how long it takes and what its ranks wait
// for.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "topology/job.h"
#include "topology/topology.h"

namespace heddle::cli {

struct StepTransport {
  std::string congestion = "cubic";
  std::string selector = "reps";
  uint16_t paths = 16;
  bool planned = false;  // payload follows a plan of what the job sends; `selector` does not count
  bool roce = false;     // RoCE NICs with DCQCN carry it: nothing above counts
};

struct SimulatedStep {
  double step_s = 0;
  double computed_s = 0;  // of the average rank
  double exposed_s = 0;
  // Of the pairs of ranks that are planned, those without a path on the planned routes: a share.
  double misfits = 0;
};

// The seed changes the hash of every switch and the choices of the transport, which starts as it
// does over sockets: windows of 64 KB and bursts of as much. Errors: kInvalid for a job that cannot
// run there or does not end; kCancelled: a signal came; kExhausted.
Result<SimulatedStep> simulate_step(const topology::Topology& topology, topology::Job job,
                                    const StepTransport& transport, uint64_t seed);

}  // namespace heddle::cli
