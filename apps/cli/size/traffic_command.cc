// See traffic_command.h.
#include "apps/cli/size/traffic_command.h"

#include <memory>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/size/job_options.h"
#include "apps/cli/size/question_options.h"
#include "planner/size_traffic.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle size traffic --model llama-3-8b --gpus 64 --fabric roce-400g
  heddle size traffic --model llama-3-405b --gpus 8192 --tensor 8 --pipeline 16 --batch 2048
  heddle size traffic --model config.json --gpus 16 --zero 3 --json)";

struct TrafficOptions {
  JobOptions job;
  QuestionOptions common;
};

Result<planner::Answer> answer_of(const TrafficOptions& options) {
  const Result<Job> job = job_of(options.job);
  if (!job) return fail(job.error());
  return planner::size_traffic(job->model, job->shape, job->fabric.nic_bits_per_s);
}

}  // namespace

void add_size_traffic_command(CLI::App& group, Invocation& invocation) {
  CLI::App* const traffic =
      group.add_subcommand("traffic", "bytes that a GPU sends in a training step");
  traffic->footer(kExample + exit_status_help("", "could not run"));
  const auto options = std::make_shared<TrafficOptions>();
  add_model_options(*traffic, options->job.model);
  add_job_options(*traffic, options->job);
  add_question_options(*traffic, options->common);
  traffic->callback([options, traffic, &invocation] {
    require_model(options->job.model);
    invocation.run = [options, traffic, &invocation] {
      return finish_question(answer_of(*options), {*traffic, options->common, invocation.places});
    };
  });
}

}  // namespace heddle::cli
