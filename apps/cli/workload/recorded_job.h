// A recording as a job of a workload, for the commands that write it to files.
#pragma once

#include <string>

#include "base/result.h"
#include "insight/job_replay.h"

namespace heddle::cli {

struct RecordedJob {
  insight::JobReplay replay;
  bool whole = true;  // false: some could not be read, and errors are printed
};

// Errors: those of the files, and of recordings that have no job.
Result<RecordedJob> read_recorded_job(const std::string& path);

}  // namespace heddle::cli
