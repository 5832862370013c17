// Writes a job as the text of a workload file, with each rank's program in full.
#pragma once

#include <string>

#include "topology/job.h"

namespace heddle::topology {

// Returns a [[job]] of kind "program" without hosts; it runs on the hosts of any topology.
// Communicators at the same index of different ranks must have the same name.
std::string job_text(const Job& job);

}  // namespace heddle::topology
