// The options of `heddle size` that describe a training job: its model, how it is spread over GPUs,
// and the fabric that joins them.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>

#include "apps/cli/size/model_options.h"
#include "base/result.h"
#include "planner/job_shape.h"
#include "planner/presets.h"

namespace heddle::cli {

struct JobOptions {
  ModelOptions model;
  std::string fabric;
  uint64_t gpus_per_node = 0;  // 0: the fabric's
  planner::JobShape job;
};

// Adds all but those of the model. `options` must outlive the command.
void add_job_options(CLI::App& command, JobOptions& options);

struct Job {
  planner::ModelShape model;
  planner::JobShape shape;
  planner::FabricPreset fabric;  // nic_bits_per_s is 0: none was named
};
// Errors: kInvalid: a name that is no preset, a file that cannot be read.
Result<Job> job_of(const JobOptions& options);

}  // namespace heddle::cli
