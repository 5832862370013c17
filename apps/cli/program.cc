// The program: see program.h.
#include "apps/cli/program.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "apps/cli/agent_command.h"
#include "apps/cli/bench_command.h"
#include "apps/cli/command_line/check_line.h"
#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/line_cursor.h"
#include "apps/cli/command_line/page.h"
#include "apps/cli/command_line/page_text.h"
#include "apps/cli/completion_command.h"
#include "apps/cli/config_command.h"
#include "apps/cli/copy_command.h"
#include "apps/cli/diagnose_command.h"
#include "apps/cli/doctor_command.h"
#include "apps/cli/help_command.h"
#include "apps/cli/key_command.h"
#include "apps/cli/lab_command.h"
#include "apps/cli/matrix_command.h"
#include "apps/cli/monitor_command.h"
#include "apps/cli/nccl_command.h"
#include "apps/cli/paths_command.h"
#include "apps/cli/perf_command.h"
#include "apps/cli/ping_command.h"
#include "apps/cli/plan_command.h"
#include "apps/cli/probe_command.h"
#include "apps/cli/ranks_command.h"
#include "apps/cli/record_command.h"
#include "apps/cli/relay_command.h"
#include "apps/cli/resize_command.h"
#include "apps/cli/run_command.h"
#include "apps/cli/sim_command.h"
#include "apps/cli/size/job_file.h"
#include "apps/cli/size_command.h"
#include "apps/cli/stragglers_command.h"
#include "apps/cli/summary_command.h"
#include "apps/cli/terminal.h"
#include "apps/cli/timeline_command.h"
#include "apps/cli/tune_command.h"
#include "apps/cli/verify_command.h"
#include "apps/cli/version_text.h"
#include "apps/cli/workload_command.h"
#include "base/version.h"
#include "nccl/environment.h"

namespace heddle::cli {
namespace {

constexpr const char* kFooter = R"(Example:
  heddle perf --listen                      on node2
  heddle perf node2                         on node1
  heddle run -n 4 -- heddle bench allreduce -b 8 -e 64M -f 2
  heddle lab up lab/examples/two_leaf_four_spine.toml

Settings come from options, HEDDLE_* variables and a file: 'heddle help settings' lists them.

Results go to standard output; errors, warnings and progress to standard error.)";

// Commands on the program's page, in groups by what they are for.
using AddCommand = void (*)(CLI::App& root, Invocation& invocation);

struct CommandGroup {
  const char* title;
  std::vector<AddCommand> commands;
};

const std::vector<CommandGroup>& command_groups() {
  static const std::vector<CommandGroup> kGroups = {
      {"Measure",
       {add_ping_command, add_perf_command, add_bench_command, add_tune_command, add_paths_command,
        add_probe_command, add_verify_command}},
      {"Run",
       {add_run_command, add_resize_command, add_ranks_command, add_workload_command,
        add_nccl_command, add_copy_command, add_relay_command}},
      {"Observe",
       {add_record_command, add_summary_command, add_matrix_command, add_timeline_command,
        add_diagnose_command, add_stragglers_command, add_monitor_command, add_agent_command}},
      {"Simulate", {add_sim_command, add_plan_command, add_size_command, add_lab_command}},
      {"Manage",
       {add_config_command, add_doctor_command, add_key_command, add_completion_command,
        add_help_command}}};
  return kGroups;
}

int wrong_line(const CLI::App& command, const LineError& error) {
  print_error({ErrorCode::kInvalid, "cannot read the command line", error.why, error.todo});
  // A shell evaluates what this command prints.
  if (words_of(command) == "nccl env") print(nccl::kShellFailure);
  return own_failure_status(words_of(command));
}

// What only the command itself checks: options that do not go together.
int refused_by_command(const CLI::App& command, const CLI::ParseError& error) {
  std::string why = error.what();
  std::replace(why.begin(), why.end(), '\n', ' ');
  const std::string words = words_of(command);
  return wrong_line(command,
                    {why, fmt::format("see 'heddle {}{}--help'", words, words.empty() ? "" : " ")});
}

}  // namespace

void add_commands(CLI::App& root, Invocation& invocation) {
  for (const CommandGroup& group : command_groups()) {
    for (const AddCommand add : group.commands) {
      add(root, invocation);
      root.get_subcommands([](CLI::App*) { return true; }).back()->group(group.title);
    }
  }
}

namespace {

int run_command(std::vector<std::string> words) {
  try {
    CLI::App root{"move data between GPU hosts over plain Ethernet, and see where it goes",
                  "heddle"};
    root.set_version_flag("--version", std::string(kVersion),
                          "print version, commit, build type and libraries");
    root.set_help_flag("-h,--help", "print this help");
    root.require_subcommand(1);
    root.footer(kFooter);
    Invocation invocation;
    add_commands(root, invocation);
    if (Result<void> known = expand_job_file(root, words, invocation.places); !known) {
      print_error(known.error());
      return kCouldNotRun;
    }
    const CheckedLine checked = check_line(root, words);
    CLI::App& command = *checked.command;
    if (checked.error) return wrong_line(command, *checked.error);
    if (checked.wants_version) {
      print(version_text());
      return kDone;
    }
    const bool names_group = command.get_require_subcommand_min() > 0;
    if (checked.wants_help || names_group) {
      const Page page = page_of(command);
      print(checked.wants_help ? help_text(page) : short_help_text(page));
      return kDone;
    }
    try {
      std::reverse(words.begin(), words.end());  // as CLI11 takes them
      root.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
      return refused_by_command(command, error);
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
  const int status = run_command({argv + std::min(argc, 1), argv + argc});
  if (Result<void> written = check_output(); !written) {
    print_error(written.error());
    return kCouldNotRun;
  }
  return status;
}

}  // namespace heddle::cli
