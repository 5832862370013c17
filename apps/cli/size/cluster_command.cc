// See cluster_command.h.
#include "apps/cli/size/cluster_command.h"

#include <memory>
#include <string>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/size/answer_report.h"
#include "apps/cli/size/job_options.h"
#include "apps/cli/size/quantity_options.h"
#include "planner/size_cluster.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle size cluster --model llama-3-8b --gpus 64 --gpu h100 --fabric roce-400g
  heddle size cluster --model llama-3-70b --gpus 512 --tensor 8 --zero 1 --batch 512 --json)";

struct ClusterOptions {
  JobOptions job;
  std::string gpu = "h100";
  double kernel_share = 0;
  bool json = false;
};

Result<planner::Answer> answer_of(const ClusterOptions& options) {
  const Result<Job> job = job_of(options.job);
  if (!job) return fail(job.error());
  const Result<planner::Gpu> gpu = planner::find_gpu(options.gpu);
  if (!gpu) return fail(gpu.error());
  return planner::size_cluster(job->model, {.job = job->shape,
                                            .gpu = *gpu,
                                            .fabric = job->fabric,
                                            .kernel_share = options.kernel_share});
}

}  // namespace

void add_size_cluster_command(CLI::App& group, Invocation& invocation) {
  CLI::App* const cluster = group.add_subcommand(
      "cluster", "time of a training step, and the network at which it is no bottleneck");
  cluster->footer(kExample + exit_status_help("", "could not run"));
  const auto options = std::make_shared<ClusterOptions>();
  options->job.fabric = "roce-400g";
  add_job_options(*cluster, options->job);
  cluster->get_option("--fabric")->default_str("roce-400g");
  cluster->add_option("--gpu", options->gpu, "a preset or a TOML file: operations, NVLink")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  add_number(*cluster, "--kernel-share", options->kernel_share,
             "what kernels reach of the GPU's best matrix product", {0.01, 1})
      ->default_str("0.65");
  add_json_option(*cluster, options->json);
  cluster->callback([options, &invocation] {
    require_model(options->job.model);
    invocation.run = [options] { return print_answer(answer_of(*options), options->json); };
  });
}

}  // namespace heddle::cli
