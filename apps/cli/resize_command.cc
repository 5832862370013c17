// `heddle resize`: see resize_command.h.
#include "apps/cli/resize_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/json.h"
#include "apps/cli/terminal.h"
#include "base/printable.h"
#include "launch/params.h"
#include "launch/run_control.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle run -n 4 --elastic 2:6 -- python3 examples/elastic.py &
  heddle resize           the elastic runs of this user
  heddle resize 6         newcomers are started, and join
  heddle resize 3         the last ranks are ended, one after the other

Without RANKS the runs are listed that were started with --elastic MIN:MAX by this user, with the
same TMPDIR. Inside a run it is about that run. The command does not wait until ranks have joined or
ended; `heddle run` prints when they have.)";

struct ResizeOptions {
  uint32_t ranks = 0;  // 0: list them
  pid_t process = 0;   // 0: the only one
  bool json = false;
};

// A command line may be no UTF-8.
std::string text_of(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int show(const std::vector<launch::RunState>& runs, bool json) {
  Json rows = Json::array();
  std::string text = fmt::format("{:>8}  {:>6}  {:>6}  {:>9}  {}\n", "process", "ranks", "wanted",
                                 "allowed", "command");
  for (const launch::RunState& run : runs) {
    rows.push_back({{"process", run.process},
                    {"ranks", run.ranks},
                    {"wanted", run.wanted},
                    {"min", run.elastic.min_ranks},
                    {"max", run.elastic.max_ranks.value_or(run.ranks)},
                    {"command", run.command}});
    text += fmt::format("{:>8}  {:>6}  {:>6}  {:>9}  {}\n", run.process, run.ranks, run.wanted,
                        launch::elastic_text(run.elastic), printable(run.command));
  }
  print(json ? text_of(Json({{"runs", rows}})) : text);
  return kDone;
}

// The one that the user named, else the only one.
Result<launch::RunState> choose(const std::vector<launch::RunState>& runs, pid_t process) {
  const char* const what = "cannot change the number of ranks";
  for (const launch::RunState& run : runs) {
    if (run.process == process || (process == 0 && runs.size() == 1)) return run;
  }
  if (process > 0) {
    return fail(
        ErrorCode::kUnavailable, what,
        fmt::format("process {} is no `heddle run --elastic MIN:MAX` of this user", process),
        "see `heddle resize`");
  }
  if (runs.empty()) {
    return fail(ErrorCode::kUnavailable, what, "no elastic run with a maximum is there",
                "start one with `heddle run --elastic MIN:MAX`");
  }
  std::vector<std::string> choices;
  for (const launch::RunState& run : runs) choices.push_back(std::to_string(run.process));
  return fail(ErrorCode::kInvalid, what, fmt::format("{} elastic runs are there", runs.size()),
              fmt::format("give --run {}", fmt::join(choices, " or --run ")));
}

int run(const ResizeOptions& options) {
  const auto runs = launch::running_runs();
  if (runs && options.ranks == 0) return show(*runs, options.json);
  const Result<launch::RunState> chosen =
      runs ? choose(*runs, options.process) : Result<launch::RunState>(fail(runs.error()));
  const Result<launch::RunState> changed =
      chosen ? launch::resize_run(*chosen, options.ranks) : chosen;
  if (changed) return show({*changed}, options.json);
  print_error(changed.error());
  return kCouldNotRun;
}

}  // namespace

void add_resize_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command =
      root.add_subcommand("resize", "change the number of ranks of an elastic run, or list them");
  command->footer(kExample + exit_status_help("", "could not run"));
  const auto options = std::make_shared<ResizeOptions>();
  CLI::Option* const ranks =
      command->add_option("ranks", options->ranks, "how many ranks the run is to have")
          ->type_name("RANKS")
          ->check(whole_number(1, launch::params::kMostLocalRanks));
  command->add_option("--run", options->process, "the process of its `heddle run`")
      ->type_name("PROCESS")
      ->check(whole_number(1, INT32_MAX))
      ->default_str("the only one")
      ->needs(ranks);
  add_json_option(*command, options->json);
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace heddle::cli
