// See job_options.h.
#include "apps/cli/size/job_options.h"

#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/size/params.h"
#include "apps/cli/size/quantity_options.h"

namespace heddle::cli {
namespace {

void add_parallel_options(CLI::App& command, planner::JobShape& job) {
  add_count(command, "--tensor", job.tensor, "tensor parallel ranks", params::size::kMostRanks);
  add_count(command, "--context", job.context, "context parallel ranks", params::size::kMostRanks);
  add_count(command, "--data", job.data, "data parallel ranks", params::size::kMostGpus)
      ->default_str("what is left of the GPUs");
  add_count(command, "--pipeline", job.pipeline, "pipeline stages", params::size::kMostRanks);
  add_count(command, "--expert", job.expert, "expert parallel ranks", params::size::kMostRanks);
  add_count(command, "--chunks", job.chunks,
            "parts of a pipeline stage; above 1 the schedule is interleaved",
            params::size::kMostRanks);
  command.add_option("--zero", job.zero_stage, "stage of ZeRO; FSDP is 3, DDP is 0")
      ->type_name("N")
      ->check(whole_number(0, 3))
      ->capture_default_str();
  command.add_flag("--sequence-parallel", job.sequence_parallel,
                   "share activations among tensor parallel ranks");
  command.add_flag("--recompute", job.recompute, "recompute activations in the backward pass");
}

void add_size_options(CLI::App& command, planner::JobShape& job) {
  add_count(command, "--batch", job.batch, "sequences in a step", params::size::kMostSequences)
      ->default_str("a microbatch on each data parallel rank");
  add_count(command, "--microbatch", job.microbatch, "sequences in a microbatch",
            params::size::kLargestMicrobatch);
  add_count(command, "--sequence", job.sequence, "tokens in a sequence",
            params::size::kLongestSequence);
  add_count(command, "--gradient-bytes", job.gradient_bytes, "of one gradient", 8);
  add_count(command, "--parameter-bytes", job.parameter_bytes, "of one parameter", 8);
  add_count(command, "--activation-bytes", job.activation_bytes, "of one activation", 8);
}

}  // namespace

void add_job_options(CLI::App& command, JobOptions& options) {
  add_count(command, "--gpus", options.job.gpus, "of the job", params::size::kMostGpus);
  command.add_option("--fabric", options.fabric, "a preset or a TOML file: nodes and NICs")
      ->type_name("NAME|FILE");
  add_count(command, "--gpus-per-node", options.gpus_per_node, "joined by NVLink",
            params::size::kMostRanks)
      ->default_str("of the fabric, else 8");
  add_parallel_options(command, options.job);
  add_size_options(command, options.job);
}

Result<Job> job_of(const JobOptions& options) {
  Result<planner::ModelShape> model = model_of(options.model);
  if (!model) return fail(model.error());
  Job job{.model = std::move(*model), .shape = options.job, .fabric = {}};
  if (!options.fabric.empty()) {
    Result<planner::FabricPreset> fabric = planner::find_fabric(options.fabric);
    if (!fabric) return fail(fabric.error());
    job.fabric = std::move(*fabric);
    job.shape.gpus_per_node = job.fabric.gpus_per_node;
  }
  if (options.gpus_per_node > 0) job.shape.gpus_per_node = options.gpus_per_node;
  return job;
}

}  // namespace heddle::cli
