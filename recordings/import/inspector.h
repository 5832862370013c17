// NCCL Inspector: a line of JSON for each collective, send and receive that a process has completed
// (NVIDIA/nccl, plugins/profiler/inspector, output format v4.0).
#pragma once

#include <map>
#include <string>
#include <utility>

#include "recordings/import/bounded_json.h"
#include "recordings/import/foreign_job.h"

namespace heddle::recordings {

bool looks_like_inspector(const ForeignJson& line);

// Lines of a file, which may be of several processes. Without the event trace
// (NCCL_INSPECTOR_DUMP_VERBOSE=1) the time of a call is unknown: it then ended when it was written.
class InspectorReader {
 public:
  // Errors: kInvalid.
  Result<void> add(const ForeignJson& line);
  std::map<std::string, ForeignProcess> take() { return std::move(processes_); }
  uint64_t without_times() const { return without_times_; }

 private:
  // Null: the process would have too many devices.
  ForeignProcess* process_of(const std::string& name, uint64_t communicator, uint32_t rank);

  std::map<std::string, ForeignProcess> processes_;  // by host and pid
  uint64_t without_times_ = 0;
};

}  // namespace heddle::recordings
