// A recording as a job of a workload, for the commands that write it to files.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "insight/job_replay.h"

namespace heddle::cli {

struct RecordedJob {
  insight::JobReplay replay;
  bool whole = true;  // false: some could not be read, and errors are printed
};

// Errors: those of the files, and of recordings that have no job.
Result<RecordedJob> read_recorded_job(const std::string& path);
// Of several files or folders, one job.
Result<RecordedJob> read_recorded_job(const std::vector<std::string>& paths);

}  // namespace heddle::cli
