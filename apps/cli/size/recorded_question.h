// A recording as a sizing question: its job, and how long its ranks only waited.
#pragma once

#include <string>

#include "base/result.h"
#include "planner/size_workload.h"

namespace heddle::cli {

// Whether the path is a recording, or a folder of them.
bool is_recording(const std::string& path);

struct RecordedQuestion {
  planner::WorkloadQuestion question;
  bool whole = true;  // false: some could not be read, and errors are printed
};

// Errors: those of the files, and of recordings that have no job.
Result<RecordedQuestion> recorded_question(const std::string& path);

}  // namespace heddle::cli
