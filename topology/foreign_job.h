// Jobs that other tools describe: Chakra's execution traces (chakra_traces.h) and AICB's workload
// text (aicb_workload.h). Readers of workload files and `heddle workload import` call them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "topology/job.h"

namespace heddle::topology {

struct ForeignJob {
  Job job;                         // rank i is on host i
  std::vector<std::string> notes;  // what was left out or changed, counted
};

struct ForeignOptions {
  uint32_t ranks = 0;       // instead of the described number; 0: as described
  uint32_t open_ranks = 0;  // where the description leaves the number open
  // Ranks i*n to i*n+n-1 share a server with a network of its own (NVLink): calls among them take
  // as long as a ring at `server_rate`, and nothing is sent. 0: every rank is alone.
  uint32_t server_ranks = 0;
  BitsPerSec server_rate;
};

// Whether workloads are read from this path by read_foreign_job(): a folder, a path that ends in
// .et, .json or .txt, or the common part of traces' names.
bool is_foreign_job(const std::string& path);

// Errors: kUnavailable if something cannot be read; kVersion, kInvalid for content that makes no
// job, with the file, its place there and advice.
Result<ForeignJob> read_foreign_job(const std::string& path, const ForeignOptions& options);

}  // namespace heddle::topology
