// `heddle workload run`: see replay_command.h. Without a launcher it starts a process for each rank
// and for each host with flows; each of these is this command again, with a launcher.
#include "apps/cli/replay/replay_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_types.h"
#include "apps/cli/replay/replay_control.h"
#include "apps/cli/replay/replay_flows.h"
#include "apps/cli/replay/replay_plan.h"
#include "apps/cli/replay/replay_rank.h"
#include "apps/cli/replay/replay_report.h"
#include "apps/cli/replay/replay_results.h"
#include "apps/cli/replay/sent_counter.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "base/quantity.h"
#include "collectives/configured.h"
#include "engine/configured.h"
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

// A process of the run.
class ReplayProcess {
 public:
  ReplayProcess(const ReplayOptions& options, const ReplayPlan& plan, const Config& config)
      : options_(options), plan_(plan), config_(config) {}

  // Returns the exit status.
  Result<int> run(const collectives::MeetOptions& meeting) {
    auto control = ReplayControl::meet(config_, meeting);
    if (!control) return fail(control.error());
    control_ = std::move(*control);
    if (Result<void> right = check_hosts(); !right) return fail(right.error());
    if (Result<void> opened = open_endpoint(); !opened) return fail(opened.error());
    auto addresses = control_->exchange(endpoint_->local_address().port);
    if (!addresses) return fail(addresses.error());
    const ReplayRole& role = plan_.roles[control_->group().rank];
    Result<std::string> told = role.job ? run_rank(role, *addresses) : run_flows(role, *addresses);
    if (!told) return fail(told.error());
    auto all = control_->gather(*told);
    if (!all) return fail(all.error());
    return control_->group().rank == 0 ? tell(*all) : kDone;
  }

 private:
  // In a lab each process is where its rank is to be.
  Result<void> check_hosts() const {
    if (!plan_.lab) return {};
    for (uint32_t i = 0; i < plan_.roles.size(); ++i) {
      const std::string& is = control_->group().hosts[i];
      const std::string& should = plan_.host_name(plan_.roles[i]);
      if (is == should) continue;
      return fail(ErrorCode::kInvalid, "cannot run the workload in the lab",
                  fmt::format("process {} runs on {} and not on {}", i, is, should),
                  "leave starting processes to `heddle workload run`");
    }
    return {};
  }

  Result<void> open_endpoint() {
    Result<engine::Options> options = collectives::configured_rank_options(config_);
    if (!options) return fail(options.error());
    options->sink = &sent_;
    if (!plan_.roles[control_->group().rank].job) {
      options->transport.max_channels = topology::kMaxFlowsOfPair;
      options->transport.max_posted = topology::kMaxFlowsOfPair;
    }
    auto opened = engine::Endpoint::open(engine::configured_network(config_), *options);
    if (!opened) return fail(opened.error());
    endpoint_ = std::move(*opened);
    return {};
  }

  Result<std::string> run_rank(const ReplayRole& role,
                               const std::vector<transport::Address>& addresses) {
    auto options = collectives::configured_communicator_options(config_);
    if (!options) return fail(options.error());
    options->shared_memory = collectives::SharedMemory::kNever;  // hosts have one rank of a job
    std::vector<transport::Address> of_job;
    for (size_t i = 0; i < plan_.roles.size(); ++i) {
      if (plan_.roles[i].job == role.job) of_job.push_back(addresses[i]);
    }
    auto rank = ReplayRank::create(plan_.workload, *role.job, role.rank, *options, *endpoint_,
                                   sent_, std::move(of_job));
    if (!rank) return fail(rank.error());
    if (Result<void> ran = open_and_run(**rank); !ran) return fail(ran.error());
    return record_of_job(*role.job, (*rank)->outcome(), counts());
  }

  Result<std::string> run_flows(const ReplayRole& role,
                                const std::vector<transport::Address>& addresses) {
    std::vector<transport::Address> of_hosts(plan_.topology.hosts.size());
    for (size_t host = 0; host < of_hosts.size(); ++host) {
      if (plan_.flow_roles[host]) of_hosts[host] = addresses[*plan_.flow_roles[host]];
    }
    auto flows = ReplayFlows::create(plan_.workload, role.host, *endpoint_, std::move(of_hosts));
    if (!flows) return fail(flows.error());
    if (Result<void> ran = open_and_run(**flows); !ran) return fail(ran.error());
    return record_of_flows(plan_.workload, role.host, (*flows)->outcomes(), counts());
  }

  template <typename Part>
  Result<void> open_and_run(Part& part) {
    if (Result<void> opened = part.open(); !opened) return opened;
    const Result<Nanos> zero = control_->agree_on_start();
    if (!zero) return fail(zero.error());
    before_ = {sent_.segments(), sent_.segments_repeated()};
    return part.run(*zero);
  }

  // Since time 0.
  ReplayCounts counts() const {
    return {sent_.segments() - before_.segments_sent,
            sent_.segments_repeated() - before_.segments_repeated};
  }

  Result<int> tell(const std::vector<std::string>& all) const {
    ReplayResults results(plan_.workload);
    for (const std::string& told : all) {
      if (auto added = add_record(plan_.workload, told, results); !added)
        return fail(added.error());
    }
    if (options_.json) {
      print(replay_document(options_, plan_, config_, results)
                .dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
            "\n");
    } else {
      print(replay_text(options_, plan_, config_, results));
    }
    return all_done(plan_, results) ? kDone : kFoundWrong;
  }

  const ReplayOptions& options_;
  const ReplayPlan& plan_;
  const Config& config_;
  SentCounter sent_;
  std::unique_ptr<ReplayControl> control_;
  std::unique_ptr<engine::Endpoint> endpoint_;
  ReplayCounts before_;
};

// What each process reads by itself.
Result<void> check_file(const std::string& path) {
  constexpr std::array<std::string_view, 3> kOfThisProcess = {"/dev/stdin", "/dev/fd/",
                                                              "/proc/self/"};
  const bool own = std::any_of(kOfThisProcess.begin(), kOfThisProcess.end(),
                               [&path](std::string_view each) { return path.starts_with(each); });
  std::error_code ignored;
  if (path.empty() || (!own && std::filesystem::is_regular_file(path, ignored))) return {};
  return fail(ErrorCode::kInvalid, "cannot run the workload",
              path + " is for one process to read, and each of the run reads it",
              "write it to a file first");
}

// Reports errors of the configuration once, and not in each process. Hosts of a lab have different
// addresses, which are checked there.
Result<void> check_config(const Config& config, const ReplayPlan& plan) {
  const auto of_ranks = collectives::configured_communicator_options(config);
  if (!of_ranks) return fail(of_ranks.error());
  Result<engine::Options> options = collectives::configured_rank_options(config);
  if (!options) return fail(options.error());
  if (plan.lab) return {};
  options->recording.directory.clear();
  const auto opened = engine::Endpoint::open(engine::configured_network(config), *options);
  return opened ? Result<void>() : fail(opened.error());
}

Result<int> start_processes(const Config& config, const ReplayOptions& options,
                            const ReplayPlan& plan) {
  for (const std::string& path : {options.workload, options.topology}) {
    if (Result<void> file = check_file(path); !file) return fail(file.error());
  }
  if (Result<void> right = check_config(config, plan); !right) return fail(right.error());
  launch::RunPlan run{.words = launch::own_words(),
                      .file = launch::own_file(),
                      .verdict = kFoundWrong,
                      .own_failure = kCouldNotRun};
  for (const ReplayRole& role : plan.roles) {
    run.places.push_back({.host = plan.lab ? plan.host_name(role) : std::string()});
  }
  run.lab = plan.lab;
  return launch::run_ranks(run, {print_error, print_warning});
}

Result<int> replay(const Config& config, const ReplayOptions& options) {
  const Result<ReplayPlan> plan = plan_replay(options);
  if (!plan) return fail(plan.error());
  const std::vector<std::string> environment = ConfigSources::of_process().environment;
  const auto launch = collectives::read_launch(environment, config.text("store"));
  if (!launch || launch->size == 1) return start_processes(config, options, *plan);
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
  const Result<int> status = ReplayProcess(options, *plan, config).run(*meeting);
  if (!status && interrupted() != 0) return interrupted_exit_status();
  return status;
}

int run_replay(const Settings& settings, const ReplayOptions& options) {
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
  const auto options = std::make_shared<ReplayOptions>();
  const auto settings = std::make_shared<Settings>(*run);
  run->add_option("workload", options->workload, "a workload file, or htsim's .cm")
      ->required()
      ->type_name("FILE");
  auto* const lab = add_lab_option(*run, options->lab);
  auto* const ranks =
      add_ranks_option(*run, options->hosts,
                       "run on this machine, which stands for this number of hosts, a rank on "
                       "each",
                       topology::kMaxRanks);
  ranks->excludes(lab);
  add_topology_option(*run, options->topology,
                      "run on this machine, which stands for the hosts of this file")
      ->excludes(lab)
      ->excludes(ranks);
  add_seed_option(*run, options->seed);
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
