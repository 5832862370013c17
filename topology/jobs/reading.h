// Converts [[job]] tables of ranks to jobs; the reader of workload files (workload_file.cc) calls
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/file/table.h"
#include "topology/job.h"

namespace heddle::topology {

// Reads the keys of all kinds of jobs: `name`, `start`, `chunk`. The ranks are on `hosts`, in that
// order.
Job read_job_basics(TableReader& table, const std::string& kind,
                    const std::vector<uint32_t>& hosts);
// Adds a communicator of which all ranks are members.
void add_world(Job& job);
// Nothing where the key is missing, "auto" or invalid (then the error is kept).
std::optional<AlgorithmChoice> read_algorithm(TableReader& table, CallKind call);

// A job of one repeated call, such as all_reduce.
Job read_collective_job(TableReader& table, CallKind call, const std::vector<uint32_t>& hosts);

// A job of repeated training steps by data, pipeline and tensor parallel ranks.
Job read_training_job(TableReader& table, const std::vector<uint32_t>& hosts);

// A job with an explicit program for each rank.
Job read_program_job(TableReader& table, FileErrors& errors, const std::vector<uint32_t>& hosts);

}  // namespace heddle::topology
