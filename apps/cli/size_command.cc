// `heddle size`: see size_command.h.
#include "apps/cli/size_command.h"

#include <memory>
#include <string>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/size/answer_report.h"
#include "apps/cli/size/capture_command.h"
#include "apps/cli/size/cluster_command.h"
#include "apps/cli/size/distance_command.h"
#include "apps/cli/size/headroom_command.h"
#include "apps/cli/size/job_file.h"
#include "apps/cli/size/messages_command.h"
#include "apps/cli/size/overlap_command.h"
#include "apps/cli/size/presets_report.h"
#include "apps/cli/size/report_command.h"
#include "apps/cli/size/sites_command.h"
#include "apps/cli/size/traffic_command.h"
#include "apps/cli/size/workload_question_command.h"
#include "apps/cli/terminal.h"
#include "planner/size_validate.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle size --list
  heddle size --validate
  heddle size cluster --model llama-3-8b --gpus 64 --gpu h100 --fabric roce-400g
  heddle size sites --surplus surplus.csv --model llama-3-8b --gpus 1024 --zero 2 --site-km 300
  heddle size traffic --model llama-3-8b --gpus 64
  heddle size overlap --parameters 1B --backward 800ms --rate 100Gbit/s
  heddle size distance --km 300 --rate 400Gbit/s --message 1M
  heddle size headroom --rate 400Gbit/s --meters 100
  heddle size messages --bucket 25M --gpus 16
  heddle size workload --workload traces/ --rate 400Gbit/s
  heddle size capture job.pcap
  heddle size report job --topology fabric.toml
  heddle size cluster --model llama-3-8b --gpus 64 --write job.toml
  heddle size job.toml

Each figure is printed with its formula, the values in it and its source.)";

struct SizeOptions {
  std::string job_file;  // expanded before the command line is read
  bool list = false;
  bool validate = false;
  bool json = false;
};

int print_asked(const SizeOptions& options) {
  if (options.validate) return print_answer(planner::size_validate(), options.json);
  print(options.json ? presets_document().dump(2) + "\n" : presets_text());
  return kDone;
}

// Of `heddle size --json traffic ...` the question would not know.
void refuse_options_of(const CLI::App& size) {
  for (const CLI::Option* option : size.get_options()) {
    if (option->count() == 0) continue;
    throw CLI::ValidationError(option->get_name(), "write options of a question after its name");
  }
}

}  // namespace

void add_size_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const size =
      root.add_subcommand("size", "calculate the traffic, overlap, goodput or buffers of a job");
  size->footer(kExample + exit_status_help("what was asked for does not fit", "could not run"));
  const auto options = std::make_shared<SizeOptions>();
  add_job_file(*size, options->job_file, "a job file, which has the question and its options");
  size->add_flag("--list", options->list, "list the presets of models, GPUs and fabrics");
  size->add_flag("--validate", options->validate,
                 "compare the formulas with published measurements, and print every error");
  add_json_option(*size, options->json);
  add_size_cluster_command(*size, invocation);
  add_size_sites_command(*size, invocation);
  add_size_traffic_command(*size, invocation);
  add_size_overlap_command(*size, invocation);
  add_size_distance_command(*size, invocation);
  add_size_headroom_command(*size, invocation);
  add_size_messages_command(*size, invocation);
  add_size_workload_command(*size, invocation);
  add_size_capture_command(*size, invocation);
  add_size_report_command(*size, invocation);
  size->callback([options, size, &invocation] {
    if (!size->get_subcommands().empty()) return refuse_options_of(*size);
    if (options->list == options->validate) {
      throw CLI::ValidationError(
          "size",
          "give cluster, sites, traffic, overlap, distance, headroom, messages, "
          "workload, capture or report, a job file, or --list or --validate");
    }
    invocation.run = [options] { return print_asked(*options); };
  });
}

}  // namespace heddle::cli
