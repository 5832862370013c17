// See overlap_command.h.
#include "apps/cli/size/overlap_command.h"

#include <memory>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/size/model_options.h"
#include "apps/cli/size/params.h"
#include "apps/cli/size/quantity_options.h"
#include "apps/cli/size/question_options.h"
#include "planner/size_overlap.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle size overlap --parameters 1B --backward 800ms --rate 100Gbit/s
  heddle size overlap --model llama-3-8b --backward 2s --gpus 64 --bucket 100M --json)";

struct OverlapOptions {
  ModelOptions model;
  planner::OverlapQuestion question;
  double forward_s = 0;  // 0: half of the backward pass
  QuestionOptions common;
};

Result<planner::Answer> answer_of(const OverlapOptions& options) {
  const Result<planner::ModelShape> model = model_of(options.model);
  if (!model) return fail(model.error());
  planner::OverlapQuestion question = options.question;
  if (options.forward_s > 0) question.forward_s = options.forward_s;
  return planner::size_overlap(*model, question);
}

}  // namespace

void add_size_overlap_command(CLI::App& group, Invocation& invocation) {
  CLI::App* const overlap = group.add_subcommand(
      "overlap", "communication of gradients beside the backward pass: idle time and speed-up");
  overlap->footer(kExample + exit_status_help("", "could not run"));
  const auto options = std::make_shared<OverlapOptions>();
  planner::OverlapQuestion& question = options->question;
  add_model_options(*overlap, options->model);
  add_count(*overlap, "--gpus", question.gpus, "data parallel, each with a NIC",
            params::size::kMostGpus);
  add_rate(*overlap, "--rate", question.link_bits_per_s, "of a GPU's NIC");
  add_time(*overlap, "--backward", question.backward_s, "backward pass of a step, alone")
      ->required()
      ->default_str("");
  add_time(*overlap, "--forward", options->forward_s, "forward pass of a step, alone")
      ->default_str("half of --backward");
  add_size(*overlap, "--bucket", question.bucket_bytes, "gradients of one all-reduce");
  add_number(*overlap, "--gradient-bytes", question.gradient_bytes, "of one gradient", {1, 8});
  add_size(*overlap, "--chunk", question.chunk_bytes, "that is forwarded by itself");
  add_time(*overlap, "--step-latency", question.step_s,
           "way of a chunk to the next GPU beside its transmission");
  add_size(*overlap, "--payload", question.mtu_bytes, "payload of a full packet");
  add_number(*overlap, "--headers", question.header_bytes, "bytes of a packet beside it",
             {0, 10'000});
  add_question_options(*overlap, options->common);
  overlap->callback([options, overlap, &invocation] {
    require_model(options->model);
    invocation.run = [options, overlap, &invocation] {
      return finish_question(answer_of(*options), {*overlap, options->common, invocation.places});
    };
  });
}

}  // namespace heddle::cli
