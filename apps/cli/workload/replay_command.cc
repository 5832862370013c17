// `heddle workload run`: see replay_command.h. Without a launcher it starts a process for each rank
// and for each host with flows; each of these is this command again, with a launcher.
#include "apps/cli/workload/replay_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_types.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"
#include "apps/cli/workload/replay_report.h"
#include "base/interrupt.h"
#include "collectives/configured.h"
#include "jobs/replay.h"
#include "launch/own_command.h"
#include "launch/supervisor.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle lab run fabric.toml -- heddle workload run job.toml
  heddle sim --topology fabric.toml --workload job.toml
  heddle workload run job.toml --lab fabric --paths 32 --json
  heddle workload run job.toml -n 4
  srun -n 4 heddle workload run job.toml -n 4

The first two lines run the same file over the same fabric, with real packets and simulated. Each
rank is a process, and so is each host that has flows. Without a launcher the command starts them
itself; a launcher must start the same number. For computation a rank sleeps.)";

struct RunOptions {
  jobs::ReplayOptions replay;
  bool json = false;
};

Result<int> start_processes(const Config& config, const jobs::ReplayOptions& options,
                            const jobs::ReplayPlan& plan) {
  if (Result<void> right = jobs::check_replay(options, plan, config); !right) {
    return fail(right.error());
  }
  launch::RunPlan run{.words = launch::own_words(),
                      .file = launch::own_file(),
                      .verdict = kFoundWrong,
                      .own_failure = kCouldNotRun};
  for (const jobs::ReplayRole& role : plan.roles) {
    run.places.push_back({.host = plan.lab ? plan.host_name(role) : std::string()});
  }
  run.lab = plan.lab;
  return launch::run_ranks(run, {print_error, print_warning});
}

void print_results(const RunOptions& options, const jobs::ReplayPlan& plan, const Config& config,
                   const jobs::ReplayResults& results) {
  if (!options.json) return print(replay_text(options.replay, plan, config, results));
  const nlohmann::json document = replay_document(options.replay, plan, config, results);
  print(document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Result<int> replay(const Config& config, const RunOptions& options) {
  const Result<jobs::ReplayPlan> plan = jobs::plan_replay(options.replay);
  if (!plan) return fail(plan.error());
  const std::vector<std::string> environment = ConfigSources::of_process().environment;
  const auto launch = collectives::read_launch(environment, config.text("store"));
  if (!launch || launch->size == 1) {
    for (const std::string& note : plan->workload.notes) print_warning(note);
    return start_processes(config, options.replay, *plan);
  }
  if (launch->size != plan->roles.size()) {
    return fail(ErrorCode::kInvalid, "cannot run the workload",
                fmt::format("it takes {} processes, and {} has started {}", plan->roles.size(),
                            launch->launcher, launch->size),
                "start as many, or none: `heddle workload run` starts them itself");
  }
  catch_interrupts();
  Result<collectives::MeetOptions> meeting = collectives::meet_options(config, environment);
  if (!meeting) return fail(meeting.error());
  meeting->stopped = [] { return interrupted() != 0; };
  const auto results = jobs::run_replay_process(*plan, config, *meeting);
  if (!results && interrupted() != 0) return interrupted_exit_status();
  if (!results) return fail(results.error());
  if (!results->has_value()) return kDone;
  print_results(options, *plan, config, **results);
  return jobs::all_done(*plan, **results) ? kDone : kFoundWrong;
}

int run_replay(const Settings& settings, const RunOptions& options) {
  const Result<Config> config = settings.load();
  const Result<int> status = config ? replay(*config, options) : fail(config.error());
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

void add_replay_command(CLI::App& workload, Invocation& invocation) {
  CLI::App* const run = workload.add_subcommand(
      "run", "run a workload file with real packets, in a lab or on this machine");
  run->footer(kExample +
              exit_status_help("a flow did not arrive, or a job is not done", "could not run"));
  const auto options = std::make_shared<RunOptions>();
  const auto settings = std::make_shared<Settings>(*run);
  run->add_option("workload", options->replay.workload,
                  "a workload file, htsim's .cm, a folder of Chakra traces, or AICB's .txt")
      ->required()
      ->type_name("FILE");
  auto* const lab = add_lab_option(*run, options->replay.lab);
  auto* const ranks =
      add_ranks_option(*run, options->replay.hosts,
                       "run on this machine, which stands for this number of hosts, a rank on "
                       "each",
                       topology::kMaxRanks);
  ranks->excludes(lab);
  add_topology_option(*run, options->replay.topology,
                      "run on this machine, which stands for the hosts of this file")
      ->excludes(lab)
      ->excludes(ranks);
  add_seed_option(*run, options->replay.seed);
  settings->offer("--cc", "congestion", "NAME");
  settings->offer("--selector", "selector", "NAME");
  settings->offer("--paths", "paths", "N");
  settings->offer("--bind", "bind", kAddressListType);
  add_json_option(*run, options->json);
  run->callback([options, settings, &invocation] {
    invocation.run = [options, settings] { return run_replay(*settings, *options); };
  });
}

}  // namespace heddle::cli
