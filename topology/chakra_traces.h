// Chakra's execution traces (ET 1.0, github.com/mlcommons/chakra): read as a job, and written from
// one. A trace is a rank's: NAME.RANK.et, protobuf messages that each follow their length, or
// NAME.RANK.json, the same messages in protobuf's JSON mapping. comm_groups.json beside them has
// the ranks of process groups, as ASTRA-sim reads it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "topology/foreign_job.h"
#include "topology/job.h"

namespace heddle::topology {

enum class ChakraFormat : uint8_t { kProtobuf, kJson };

// `path`: a folder with the traces of one job, one of them, or what their names begin with. Nodes
// start when their control and data dependencies have ended; those of a rank's CPU and those of its
// GPU are computed one after the other, and calls of a group begin in the order of their node ids
// where dependencies leave it open. Errors: as read_foreign_job().
Result<ForeignJob> read_chakra_traces(const std::string& path);

// The same from the contents of files, by their name; for tests and fuzzing.
Result<ForeignJob> parse_chakra_traces(const std::map<std::string, std::string>& files);

// The contents of the files NAME.RANK.et (or .json) and comm_groups.json, by their name. Waits
// become control dependencies, and the order of a program too. Errors: kExhausted for a job of more
// than 2,000,000 nodes.
Result<std::map<std::string, std::string>> chakra_traces_of(const Job& job, const std::string& name,
                                                            ChakraFormat format);

// What such traces change, counted.
std::vector<std::string> chakra_export_notes(const Job& job);

}  // namespace heddle::topology
