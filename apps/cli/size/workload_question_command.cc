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
#include "apps/cli/size/recorded_question.h"
#include "apps/cli/terminal.h"
#include "base/document.h"
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
  heddle size workload --recording job --rate 400Gbit/s --report job.html

Reads what heddle sim reads: a folder of Chakra traces, AICB's .txt, or a workload file with one
job, whose hosts are those of --topology; or a recording of heddle record.)";

struct WorkloadOptions {
  std::string workload;
  std::string recording;
  std::string topology;
  double rate_bits_per_s = 400e9;
  bool rate_given = false;
  QuestionOptions common;
};

// A recording's answer says more than a workload's: how long ranks waited.
Result<planner::Answer> answer_of_recording(const WorkloadOptions& options, bool& whole) {
  Result<RecordedQuestion> made = recorded_question(options.recording);
  if (!made) return fail(std::move(made).error());
  whole = made->whole;
  made->question.rate_bits_per_s = options.rate_bits_per_s;
  made->question.rate_given = options.rate_given;
  return planner::size_workload(made->question);
}

// Of content that is no workload of any kind, the error names the command that makes one.
Error with_remedy(Error error, const std::string& path) {
  const Result<std::string> text = read_text_file(path, "");
  const bool workload = text && text->find("version") != std::string::npos;
  if (error.code == ErrorCode::kInvalid && !workload) {
    error.todo += "; of a recording, 'heddle workload from RECORDING -o FILE' makes a workload";
  }
  return error;
}

Result<planner::Answer> answer_of(const WorkloadOptions& options) {
  if (is_recording(options.workload)) {
    return fail(ErrorCode::kInvalid, "cannot size " + options.workload,
                "it is a recording, not a workload",
                "give it as --recording, or make a workload of it with 'heddle workload from " +
                    options.workload + " -o job.toml'");
  }
  planner::WorkloadQuestion question;
  question.rate_bits_per_s = options.rate_bits_per_s;
  if (options.topology.empty()) {
    if (!topology::is_foreign_job(options.workload)) {
      const Error error{ErrorCode::kInvalid, "cannot size the workload",
                        "a workload file is about the hosts of a topology", "give --topology FILE"};
      return fail(with_remedy(error, options.workload));
    }
    auto made = topology::read_foreign_job(options.workload, {});
    if (!made) return fail(with_remedy(made.error(), options.workload));
    question.job = std::move(made->job);
    question.notes = std::move(made->notes);
    return planner::size_workload(question);
  }
  const auto topology = topology::read_topology_file(options.topology);
  if (!topology) return fail(topology.error());
  auto workload = topology::read_workload_file(options.workload, *topology, 1);
  if (!workload) return fail(with_remedy(workload.error(), options.workload));
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
  workload->footer(kExample +
                   exit_status_help("some of the recording could not be read", "could not run"));
  const auto options = std::make_shared<WorkloadOptions>();
  workload
      ->add_option("--workload", options->workload,
                   "a folder of Chakra traces, AICB's .txt, or a workload file")
      ->type_name("PATH");
  workload
      ->add_option("--recording", options->recording,
                   "a recorded job, in place of --workload: with the share of the time that it "
                   "only waited")
      ->type_name("PATH")
      ->excludes(workload->get_option("--workload"));
  add_topology_option(*workload, options->topology, "the fabric of a workload file");
  workload->get_option("--recording")->excludes(workload->get_option("--topology"));
  add_rate(*workload, "--rate", options->rate_bits_per_s, "of a rank's NICs together");
  add_question_options(*workload, options->common);
  workload->callback([options, workload, &invocation] {
    if (options->workload.empty() && options->recording.empty()) {
      throw CLI::RequiredError("--workload or --recording");
    }
    options->rate_given = workload->get_option("--rate")->count() > 0;
    invocation.run = [options, workload, &invocation] {
      bool whole = true;
      const auto answer =
          options->recording.empty() ? answer_of(*options) : answer_of_recording(*options, whole);
      const int status = finish_question(answer, {*workload, options->common, invocation.places});
      return status == kDone && !whole ? kFoundWrong : status;
    };
  });
}

}  // namespace heddle::cli
