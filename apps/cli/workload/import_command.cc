// See import_command.h.
#include "apps/cli/workload/import_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/output.h"
#include "apps/cli/terminal.h"
#include "apps/cli/workload/chakra_output.h"
#include "base/printable.h"
#include "topology/file.h"
#include "topology/foreign_job.h"
#include "topology/job_text.h"
#include "topology/quantity.h"
#include "topology/workload_file.h"

namespace heddle::cli {
namespace {

constexpr const char* kImportExample = R"(Example:
  heddle workload import traces/ -o job.toml
  heddle workload import gpt13b.txt --ranks 16 --server-ranks 8 --server-rate 3.6T -o job.toml
  heddle sim --topology fabric.toml --workload job.toml

Reads a folder of Chakra execution traces (NAME.RANK.et, or NAME.RANK.json), or AICB's workload text
(.txt). heddle sim, heddle plan and heddle workload run read them directly, too.)";

constexpr const char* kExportExample = R"(Example:
  heddle workload export job.toml --topology fabric.toml -o traces
  heddle workload export job.toml --topology fabric.toml --format json -o traces

Writes the ranks of the workload's only job as Chakra execution traces, schema 1.0.)";

struct ImportOptions {
  std::string path;
  std::string output;
  std::string server_rate;
  topology::ForeignOptions read;
};

Result<int> import(ImportOptions options) {
  if (options.read.server_ranks > 1) {
    const auto rate = topology::parse_rate(options.server_rate);
    if (!rate || rate->count == 0) {
      return fail(ErrorCode::kInvalid, "cannot import the workload",
                  "--server-ranks needs the rate of a rank within its server",
                  "give --server-rate, like 3.6T");
    }
    options.read.server_rate = *rate;
  }
  const auto made = topology::read_foreign_job(options.path, options.read);
  if (!made) return fail(made.error());
  std::string text = "# Made by heddle workload import " + printable(options.path) + "\n";
  for (const std::string& note : made->notes) text += "# " + note + "\n";
  text += "version = " + std::to_string(topology::kWorkloadFileVersion) + "\n\n" +
          topology::job_text(made->job);
  if (auto written = write_output(options.output, text); !written) return fail(written.error());
  for (const std::string& note : made->notes) print_warning(note);
  return kDone;
}

struct ExportOptions {
  std::string workload;
  std::string topology;
  uint64_t seed = 1;
  ChakraOutput output;
};

Result<int> write_traces(const ExportOptions& options) {
  const auto topology = topology::read_topology_file(options.topology);
  if (!topology) return fail(topology.error());
  const auto workload = topology::read_workload_file(options.workload, *topology, options.seed);
  if (!workload) return fail(workload.error());
  if (workload->jobs.size() != 1 || !workload->flows.empty()) {
    return fail(ErrorCode::kInvalid, "cannot write the workload as Chakra traces",
                "traces are of one job, and it has " + std::to_string(workload->jobs.size()) +
                    " jobs and " + std::to_string(workload->flows.size()) + " flows",
                "keep one job in the file");
  }
  for (const std::string& note : workload->notes) print_warning(note);
  if (auto written = write_chakra(workload->jobs.front(), options.output); !written) {
    return fail(written.error());
  }
  return kDone;
}

int status_of(const Result<int>& status) {
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

void add_workload_import_command(CLI::App& workload, Invocation& invocation) {
  CLI::App* const command = workload.add_subcommand(
      "import", "make a workload file from Chakra traces or an AICB workload");
  command->footer(kImportExample + exit_status_help("", "no workload could be made of it"));
  const auto options = std::make_shared<ImportOptions>();
  command->add_option("path", options->path, "a folder of Chakra traces, or AICB's .txt")
      ->required()
      ->type_name("PATH");
  add_output_option(*command, options->output);
  command->add_option("-n,--ranks", options->read.ranks, "number of ranks, of an AICB workload")
      ->check(whole_number(2, topology::kMaxRanks))
      ->type_name("N")
      ->default_str("as described");
  auto* const rate =
      command->add_option("--server-rate", options->server_rate, "rate of a rank within its server")
          ->type_name("RATE");
  auto* const ranks =
      command
          ->add_option("--server-ranks", options->read.server_ranks,
                       "this number of neighboring ranks share a server: calls among them take a "
                       "ring's time at --server-rate, and send nothing over the fabric")
          ->check(whole_number(2, topology::kMaxRanks))
          ->type_name("N")
          ->needs(rate);
  rate->needs(ranks);
  command->callback([options, &invocation] {
    invocation.run = [options] { return status_of(import(*options)); };
  });
}

void add_workload_export_command(CLI::App& workload, Invocation& invocation) {
  CLI::App* const command =
      workload.add_subcommand("export", "write a workload's job as Chakra execution traces");
  command->footer(kExportExample + exit_status_help("", "nothing, or not all, was written"));
  const auto options = std::make_shared<ExportOptions>();
  command->add_option("workload", options->workload, "a workload file with one job")
      ->required()
      ->type_name("FILE");
  add_topology_option(*command, options->topology, "the fabric: a topology file")->required();
  add_seed_option(*command, options->seed);
  add_output_folder(*command, options->output.folder, "a new folder for the traces")->required();
  add_chakra_options(*command, options->output);
  command->callback([options, &invocation] {
    invocation.run = [options] { return status_of(write_traces(*options)); };
  });
}

}  // namespace heddle::cli
