// Writes a rank's program as a Chakra trace: actions become nodes, the order of the program and its
// waits become control dependencies, `after` becomes data dependencies.
#pragma once

#include <cstdint>
#include <string>

#include "topology/chakra/trace.h"
#include "topology/job.h"

namespace heddle::topology::chakra {

// The name of a communicator's process group: its number from 1; empty for all ranks in order.
std::string group_name_of(const Job& job, uint32_t communicator);

// The most nodes that a rank's trace has.
uint64_t nodes_of(const Job& job, uint32_t rank);

Trace trace_of(const Job& job, uint32_t rank);

}  // namespace heddle::topology::chakra
