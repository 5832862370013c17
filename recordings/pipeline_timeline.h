// Timelines of pipelined training as Chrome trace events: a process is a data-parallel rank, a
// thread's name has its stage ("PP rank 1, ..."), and an event has an operation's name with its
// step and number, as ByteDance's StragglerAnalysis writes them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "insight/stragglers.h"

namespace heddle::recordings {

struct PipelineTimeline {
  std::vector<insight::PipelineEvent> events;
  // Operations that are not known, and how many.
  std::map<std::string, uint64_t> left_out;
};

// `name`: of the file, in errors. Errors: kInvalid (no such timeline), kExhausted (values in
// values, too deep).
Result<PipelineTimeline> read_pipeline_timeline(const std::string& text, const std::string& name);

}  // namespace heddle::recordings
