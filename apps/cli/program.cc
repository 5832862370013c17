// The program: see program.h.
#include "apps/cli/program.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <string>
#include <vector>

#include "apps/cli/bench_command.h"
#include "apps/cli/completion_command.h"
#include "apps/cli/config_command.h"
#include "apps/cli/key_command.h"
#include "apps/cli/lab_command.h"
#include "apps/cli/matrix_command.h"
#include "apps/cli/paths_command.h"
#include "apps/cli/perf_command.h"
#include "apps/cli/ping_command.h"
#include "apps/cli/ranks_command.h"
#include "apps/cli/record_command.h"
#include "apps/cli/run_command.h"
#include "apps/cli/sim_command.h"
#include "apps/cli/summary_command.h"
#include "apps/cli/terminal.h"
#include "apps/cli/timeline_command.h"
#include "apps/cli/tune_command.h"
#include "apps/cli/workload_command.h"
#include "base/revision.h"
#include "base/version.h"

namespace heddle::cli {
namespace {

// "heddle perf": the command that the user was talking to, for the advice in an error.
std::string command_in_use(const CLI::App& root) {
  std::string words = root.get_name();
  const CLI::App* at = &root;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    words += " " + at->get_name();
  }
  return words;
}

int report(const CLI::App& root, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    root.exit(error);  // help or version, on standard output
    return kDone;
  }
  std::string why = error.what();
  // CLI11 misses the command first, and would not name the word that is none.
  const std::vector<std::string> unknown = root.remaining();
  if (root.get_subcommands().empty() && !unknown.empty()) {
    why = fmt::format("there is no command '{}'", unknown.front());
  }
  for (char& letter : why) {
    if (letter == '\n') letter = ' ';
  }
  print_error({ErrorCode::kInvalid, "cannot read the command line", why,
               fmt::format("see '{} --help'", command_in_use(root))});
  return kCouldNotRun;
}

}  // namespace

void add_commands(CLI::App& root, Invocation& invocation) {
  add_ping_command(root, invocation);
  add_perf_command(root, invocation);
  add_bench_command(root, invocation);
  add_tune_command(root, invocation);
  add_paths_command(root, invocation);
  add_run_command(root, invocation);
  add_record_command(root, invocation);
  add_matrix_command(root, invocation);
  add_summary_command(root, invocation);
  add_timeline_command(root, invocation);
  add_ranks_command(root, invocation);
  add_sim_command(root, invocation);
  add_workload_command(root, invocation);
  add_lab_command(root, invocation);
  add_config_command(root, invocation);
  add_key_command(root, invocation);
  add_completion_command(root, invocation);
}

namespace {

int run_command(int argc, const char* const* argv) {
  try {
    CLI::App root{"Moves data between GPU hosts on plain Ethernet, and shows how it goes.",
                  "heddle"};
    root.set_version_flag("--version", fmt::format("heddle {} ({})", kVersion, git_revision()));
    root.set_help_flag("-h,--help", "print this help");
    root.require_subcommand(1);
    root.footer("Every command has --help with an example.");
    Invocation invocation;
    add_commands(root, invocation);
    try {
      root.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return report(root, error);
    }
    return invocation.run();
  } catch (const std::exception& error) {
    print_error({ErrorCode::kSystem, "stopped", error.what(), ""});
    return kCouldNotRun;
  }
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  hold_standard_streams();
  const int status = run_command(argc, argv);
  if (Result<void> written = check_output(); !written) {
    print_error(written.error());
    return kCouldNotRun;
  }
  return status;
}

}  // namespace heddle::cli
