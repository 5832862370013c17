// `heddle workload`: see workload_command.h.
#include "apps/cli/workload_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/output.h"
#include "apps/cli/terminal.h"
#include "apps/cli/workload/import_command.h"
#include "apps/cli/workload/recorded_job.h"
#include "apps/cli/workload/replay_command.h"
#include "base/printable.h"
#include "insight/job_replay.h"
#include "topology/job_text.h"
#include "topology/workload_file.h"

namespace heddle::cli {
namespace {

constexpr const char* kFromExample = R"(Example:
  heddle record -o job -- heddle run -n 4 -- heddle bench allreduce
  heddle workload from job -o job.toml
  heddle sim --topology fabric.toml --workload job.toml
  heddle workload from job --ranks 8 -o twice.toml

The file has each rank's calls in their order, the computation between them and the waits. Rank i
runs on the i-th host of the topology, unless hosts = [...] is added to the file.)";

constexpr const char* kExample = R"(Example:
  heddle workload from job -o job.toml
  heddle workload import traces/ -o job.toml
  heddle workload export job.toml --topology fabric.toml -o traces
  heddle workload run job.toml -n 4)";

struct FromOptions {
  std::string path;
  std::string output;
  std::optional<uint32_t> ranks;
};

std::string file_text(const insight::JobReplay& replay, const std::string& from) {
  std::string text = "# Made by heddle workload from " + printable(from) + "\n";
  for (const std::string& note : replay.notes) text += "# " + note + "\n";
  for (size_t rank = 0; rank < replay.hosts.size(); ++rank) {
    text += "# rank " + std::to_string(rank) + " was on " + printable(replay.hosts[rank]) + "\n";
  }
  return text + "version = " + std::to_string(topology::kWorkloadFileVersion) + "\n\n" +
         topology::job_text(replay.job);
}

Result<int> make_workload(const FromOptions& options) {
  Result<RecordedJob> recorded = read_recorded_job(options.path);
  if (!recorded) return fail(std::move(recorded).error());
  Result<insight::JobReplay> replay = std::move(recorded->replay);
  if (options.ranks) replay = with_ranks(*replay, *options.ranks);
  if (!replay) return fail(replay.error());
  if (auto written = write_output(options.output, file_text(*replay, options.path)); !written) {
    return fail(written.error());
  }
  for (const std::string& note : replay->notes) print_warning(note);
  return recorded->whole ? kDone : kFoundWrong;
}

int run_from(const FromOptions& options) {
  const Result<int> status = make_workload(options);
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

void add_workload_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command = root.add_subcommand("workload", "make, convert and run workload files");
  command->footer(kExample);
  command->require_subcommand(1);
  add_replay_command(*command, invocation);
  add_workload_import_command(*command, invocation);
  add_workload_export_command(*command, invocation);
  CLI::App* const from =
      command->add_subcommand("from", "make a workload file from a recorded job");
  from->footer(kFromExample + exit_status_help("some of the recording could not be read",
                                               "no workload could be made of it"));
  const auto options = std::make_shared<FromOptions>();
  add_recording(*from, options->path);
  add_output_option(*from, options->output);
  from->add_option("-n,--ranks", options->ranks,
                   "number of ranks, which repeat the recorded ones in turn; for jobs with one "
                   "communicator")
      ->check(whole_number(2, topology::kMaxRanks))
      ->type_name("N")
      ->default_str("as recorded");
  from->callback(
      [options, &invocation] { invocation.run = [options] { return run_from(*options); }; });
}

}  // namespace heddle::cli
