// How [[job]] tables of ranks become jobs; the reader of workload files (workload_file.cc) drives
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/file/table.h"
#include "topology/job.h"

namespace heddle::topology {

// Steps, calls and what else a file may ask for again and again.
inline constexpr uint64_t kMostRepeats = 1'000'000;

// What all kinds of jobs take: `name`, `start`, `chunk`. The ranks are on `hosts`, in that order.
Job read_job_basics(TableReader& table, const std::string& kind,
                    const std::vector<uint32_t>& hosts);
// A communicator of all ranks, of which each is.
void add_world(Job& job);
// Nothing where the key is missing, "auto" or wrong (then the error is kept).
std::optional<CallAlgorithm> read_algorithm(TableReader& table, CallKind call);

// One call again and again: all_reduce and its like.
Job read_collective_job(TableReader& table, CallKind call, const std::vector<uint32_t>& hosts);

// A training step of data, pipeline and tensor parallel ranks, again and again.
Job read_training_job(TableReader& table, const std::vector<uint32_t>& hosts);

// Word by word.
Job read_program_job(TableReader& table, FileErrors& errors, const std::vector<uint32_t>& hosts);

}  // namespace heddle::topology
