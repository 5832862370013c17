// See workload_question_command.h.
#include "apps/cli/size/workload_question_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/size/quantity_options.h"
#include "apps/cli/size/question_options.h"
#include "planner/size_workload.h"
#include "topology/file.h"
#include "topology/foreign_job.h"
#include "topology/workload_file.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle size workload --workload traces/ --rate 400Gbit/s
  heddle size workload --workload gpt13b.txt --rate 200Gbit/s --json
  heddle size workload --workload job.toml --topology fabric.toml

Reads what heddle sim reads: a folder of Chakra traces, AICB's .txt, or a workload file with one
job, whose hosts are those of --topology.)";

struct WorkloadOptions {
  std::string workload;
  std::string topology;
  double rate_bits_per_s = 400e9;
  QuestionOptions common;
};

Result<planner::Answer> answer_of(const WorkloadOptions& options) {
  planner::WorkloadQuestion question;
  question.rate_bits_per_s = options.rate_bits_per_s;
  if (options.topology.empty()) {
    if (!topology::is_foreign_job(options.workload)) {
      return fail(ErrorCode::kInvalid, "cannot size the workload",
                  "a workload file is about the hosts of a topology", "give --topology FILE");
    }
    auto made = topology::read_foreign_job(options.workload, {});
    if (!made) return fail(std::move(made).error());
    question.job = std::move(made->job);
    question.notes = std::move(made->notes);
    return planner::size_workload(question);
  }
  const auto topology = topology::read_topology_file(options.topology);
  if (!topology) return fail(topology.error());
  auto workload = topology::read_workload_file(options.workload, *topology, 1);
  if (!workload) return fail(std::move(workload).error());
  if (workload->jobs.size() != 1) {
    return fail(ErrorCode::kInvalid, "cannot size the workload",
                "it has " + std::to_string(workload->jobs.size()) + " jobs of ranks",
                "name one with one job");
  }
  question.job = std::move(workload->jobs.front());
  question.notes = std::move(workload->notes);
  return planner::size_workload(question);
}

}  // namespace

void add_size_workload_command(CLI::App& group, Invocation& invocation) {
  CLI::App* const workload = group.add_subcommand(
      "workload", "what a workload's job computes and sends in a step, and the rate for it");
  workload->footer(kExample + exit_status_help("", "could not run"));
  const auto options = std::make_shared<WorkloadOptions>();
  workload
      ->add_option("--workload", options->workload,
                   "a folder of Chakra traces, AICB's .txt, or a workload file (required)")
      ->type_name("PATH");
  add_topology_option(*workload, options->topology, "the fabric of a workload file");
  add_rate(*workload, "--rate", options->rate_bits_per_s, "of a rank's NICs together");
  add_question_options(*workload, options->common);
  workload->callback([options, workload, &invocation] {
    if (options->workload.empty()) throw CLI::RequiredError("--workload");
    invocation.run = [options, workload, &invocation] {
      return finish_question(answer_of(*options), {*workload, options->common, invocation.places});
    };
  });
}

}  // namespace heddle::cli
