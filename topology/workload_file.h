// The workload file: TOML that describes what the hosts of a topology send each other.
// docs/reference/workload.md has the schema. Files that end in .cm are htsim's (htsim_matrix.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/topology.h"
#include "topology/workload.h"

namespace heddle::topology {

// The version of the schema that this build reads.
inline constexpr uint64_t kWorkloadFileVersion = 1;

// Reads and checks a file; random choices (for example a permutation) use `seed`. Errors:
// kUnavailable if it cannot be read; kVersion for a file of another version; kInvalid for content
// that is not valid on this topology, with file and line.
Result<Workload> read_workload_file(const std::string& path, const Topology& topology,
                                    uint64_t seed);

// The same from TOML text; `name` is the file's name in errors.
Result<Workload> parse_workload(std::string_view text, const std::string& name,
                                const Topology& topology, uint64_t seed);

}  // namespace heddle::topology
