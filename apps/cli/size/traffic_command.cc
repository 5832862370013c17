// See traffic_command.h.
#include "apps/cli/size/traffic_command.h"

#include <memory>
#include <string>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/size/answer_report.h"
#include "apps/cli/size/model_options.h"
#include "apps/cli/size/quantity_options.h"
#include "planner/presets.h"
#include "planner/size_traffic.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle size traffic --model llama-3-8b --gpus 64 --fabric roce-400g
  heddle size traffic --model llama-3-405b --gpus 8192 --tensor 8 --pipeline 16 --batch 2048
  heddle size traffic --model config.json --gpus 16 --zero 3 --json)";

// So that no product of sizes overflows.
constexpr uint64_t kMostRanks = 10'000;
constexpr uint64_t kMostGpus = 1'000'000;
constexpr uint64_t kMostSequences = 1'000'000'000;
constexpr uint64_t kLongestSequence = 100'000'000;
constexpr uint64_t kLargestMicrobatch = 1'000;

struct TrafficOptions {
  ModelOptions model;
  std::string fabric;
  uint64_t gpus_per_node = 0;  // 0: the fabric's
  planner::JobShape job;
  bool json = false;
};

void add_parallel_options(CLI::App& traffic, planner::JobShape& job) {
  add_count(traffic, "--tensor", job.tensor, "tensor parallel ranks", kMostRanks);
  add_count(traffic, "--context", job.context, "context parallel ranks", kMostRanks);
  add_count(traffic, "--data", job.data, "data parallel ranks", kMostGpus)
      ->default_str("what is left of the GPUs");
  add_count(traffic, "--pipeline", job.pipeline, "pipeline stages", kMostRanks);
  add_count(traffic, "--expert", job.expert, "expert parallel ranks", kMostRanks);
  add_count(traffic, "--chunks", job.chunks,
            "parts of a pipeline stage; above 1 the schedule is interleaved", kMostRanks);
  traffic.add_option("--zero", job.zero_stage, "stage of ZeRO; FSDP is 3, DDP is 0")
      ->type_name("N")
      ->check(whole_number(0, 3))
      ->capture_default_str();
  traffic.add_flag("--sequence-parallel", job.sequence_parallel,
                   "share activations among tensor parallel ranks");
  traffic.add_flag("--recompute", job.recompute, "recompute activations in the backward pass");
}

void add_size_options(CLI::App& traffic, planner::JobShape& job) {
  add_count(traffic, "--batch", job.batch, "sequences in a step", kMostSequences)
      ->default_str("a microbatch on each data parallel rank");
  add_count(traffic, "--microbatch", job.microbatch, "sequences in a microbatch",
            kLargestMicrobatch);
  add_count(traffic, "--sequence", job.sequence, "tokens in a sequence", kLongestSequence);
  add_count(traffic, "--gradient-bytes", job.gradient_bytes, "of one gradient", 8);
  add_count(traffic, "--parameter-bytes", job.parameter_bytes, "of one parameter", 8);
  add_count(traffic, "--activation-bytes", job.activation_bytes, "of one activation", 8);
}

Result<planner::Answer> answer_of(const TrafficOptions& options) {
  const Result<planner::ModelShape> model = model_of(options.model);
  if (!model) return fail(model.error());
  planner::JobShape job = options.job;
  double nic_bits_per_s = 0;
  if (!options.fabric.empty()) {
    const Result<planner::FabricPreset> fabric = planner::find_fabric(options.fabric);
    if (!fabric) return fail(fabric.error());
    job.gpus_per_node = fabric->gpus_per_node;
    nic_bits_per_s = fabric->nic_bits_per_s;
  }
  if (options.gpus_per_node > 0) job.gpus_per_node = options.gpus_per_node;
  return planner::size_traffic(*model, job, nic_bits_per_s);
}

}  // namespace

void add_size_traffic_command(CLI::App& group, Invocation& invocation) {
  CLI::App* const traffic =
      group.add_subcommand("traffic", "bytes that a GPU sends in a training step");
  traffic->footer(kExample + exit_status_help("", "could not run"));
  const auto options = std::make_shared<TrafficOptions>();
  add_model_options(*traffic, options->model);
  add_count(*traffic, "--gpus", options->job.gpus, "of the job", kMostGpus);
  traffic->add_option("--fabric", options->fabric, "a preset or a TOML file: nodes and NICs")
      ->type_name("NAME|FILE");
  add_count(*traffic, "--gpus-per-node", options->gpus_per_node, "joined by NVLink", kMostRanks)
      ->default_str("of the fabric, else 8");
  add_parallel_options(*traffic, options->job);
  add_size_options(*traffic, options->job);
  add_json_option(*traffic, options->json);
  traffic->callback([options, &invocation] {
    require_model(options->model);
    invocation.run = [options] { return print_answer(answer_of(*options), options->json); };
  });
}

}  // namespace heddle::cli
