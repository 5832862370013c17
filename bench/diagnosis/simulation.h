// Simulations of a FaultCase: its ranks are processes with the production's communicators and
// transport on a simulated fabric of two leaves, and the events are those that they emit.
#pragma once

#include "base/result.h"
#include "bench/diagnosis/fault_case.h"
#include "bench/diagnosis/observed_job.h"

namespace heddle::bench {

// `healthy`: the same job without its fault, from which its onset is known. Errors: those of
// SimulatedJobs::create().
Result<ObservedJob> simulate(const FaultCase& job, const ObservedJob* healthy);

// The address of the spine at a flapping link, as verdicts have it.
std::string flapping_router();
// And those of the link from a leaf to the first spine: "10.0.0.1, 10.0.0.2". Flows that collide
// share that of the first leaf.
std::string uplink_routers(uint32_t leaf);

}  // namespace heddle::bench
