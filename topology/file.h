// The topology file: TOML that describes a fabric, its links and a script of faults. The simulator,
// the lab and the planner read it. docs/reference/topology.md has the schema.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/topology.h"

namespace heddle::topology {

// The version of the schema that this build reads.
inline constexpr uint64_t kTopologyFileVersion = 1;

// Reads and checks a file; one that ends in .yml is ASTRA-sim's (astra_network.h). Errors:
// kUnavailable if it cannot be read; kVersion for a file of another version; kInvalid for invalid
// content, with file and line.
Result<Topology> read_topology_file(const std::string& path);

// The same from text; `name` is the file's name in errors.
Result<Topology> parse_topology(std::string_view text, const std::string& name);

}  // namespace heddle::topology
