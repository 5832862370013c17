// `heddle plan`: see plan_command.h.
#include "apps/cli/plan_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/output.h"
#include "apps/cli/plan/addresses.h"
#include "apps/cli/plan/advise_command.h"
#include "apps/cli/plan/demand_sources.h"
#include "apps/cli/plan/plan_file.h"
#include "apps/cli/plan/rank_report.h"
#include "apps/cli/terminal.h"
#include "base/quantity.h"
#include "planner/path_replan.h"
#include "planner/plan_routes.h"
#include "topology/file.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle plan --topology fabric.toml --workload ring.toml -o plan.json
  heddle sim --topology fabric.toml --workload ring.toml --plan plan.json
  heddle plan --topology fabric.toml --workload ring.toml --after plan.json --failed leaf0:spine1
  heddle plan --topology fabric.toml --recording job --beside other.json -o plan.json
  heddle plan advise job --topology fabric.toml

A plan gives each connection the paths whose packets the switches' hash sends over the right
links, and each path's share of the bytes. All flows count as concurrent. Of a workload's jobs each
call is placed by the formula of its algorithm.)";

struct PlanOptions {
  std::string topology;
  DemandSources sources;
  std::string output;
  std::vector<std::string> failed;
  std::string after;
  std::vector<std::string> beside;
  std::string addresses;
  bool lab = false;
  bool ranks = false;
  uint32_t most_swaps = 8;
  planner::PathPlanOptions plan;
  bool json = false;
};

std::string time_text(double time_ns, double bound_ns) {
  return fmt::format("{:>12.1f} us  {:>6.2f}\n", time_ns * 1e-3,
                     bound_ns > 0 ? time_ns / bound_ns : 1.0);
}

const char* why_text(planner::NoGain why) {
  switch (why) {
    case planner::NoGain::kNics:
      return "No gain: hosts' own links take longest, whatever the routes.\n";
    case planner::NoGain::kOneRoute:
      return "No gain: every flow has one route only.\n";
    case planner::NoGain::kEven:
      return "No gain: ECMP spreads these flows as well.\n";
    default:
      return "";
  }
}

std::string plan_text(const planner::PathPlan& plan, bool again) {
  std::string text =
      fmt::format("{}, {} of a connection\n", counted_text(plan.flows.size(), "flow"),
                  counted_text(plan.paths, "path"));
  if (again) {
    text += fmt::format("{} moved, {} as before\n",
                        counted_text(plan.flows.size() - plan.kept, "flow"), plan.kept);
  }
  text += "Time of the most loaded link, and as a multiple of the lower bound:\n";
  text += "  ECMP, one path    " + time_text(plan.ecmp.longest(), plan.bound());
  text += "  spraying evenly   " + time_text(plan.spraying.longest(), plan.bound());
  text += "  plan              " + time_text(plan.planned.longest(), plan.bound());
  text += "  lower bound       " + time_text(plan.bound(), plan.bound());
  if (plan.unreachable > 0) {
    text += fmt::format(
        "Not planned: {}, which have no route over links that work, or none of at most {} links.\n",
        counted_text(plan.unreachable, "part") + " of flows", planner::params::kMostRouteLinks);
  }
  return text + (plan.unreachable == 0 ? why_text(plan.no_gain) : "");
}

// Loads of other plans, by link.
Result<void> add_others(const PlanOptions& options, const topology::Topology& topology,
                        planner::Demand& demand) {
  for (const std::string& file : options.beside) {
    const Result<PlanFile> other = read_plan_file(file, topology);
    if (!other) return fail(other.error());
    planner::PlanRoutes routes({topology, demand, other->paths, other->failed_links});
    const std::vector<double> loads = routes.loads(other->flows());
    demand.background.resize(loads.size());
    for (size_t i = 0; i < loads.size(); ++i) demand.background[i] += loads[i];
  }
  return {};
}

Result<planner::PathPlan> plan_of(const PlanOptions& options, const topology::Topology& topology,
                                  const planner::Demand& demand,
                                  planner::PathPlanOptions& of_plan) {
  if (options.after.empty()) return planner::plan_paths(topology, demand, of_plan);
  Result<PlanFile> earlier = read_plan_file(options.after, topology);
  if (!earlier) return fail(earlier.error());
  for (const uint32_t link : earlier->failed_links) of_plan.failed_links.push_back(link);
  of_plan.paths = earlier->paths;
  planner::EarlierPlan known{{}, earlier->failed_links};
  for (planner::PlannedFlow& flow : earlier->flows()) {
    known.paths[{flow.demand.from, flow.demand.to}] = std::move(flow.paths);
  }
  return planner::replan_paths(topology, demand, of_plan, known);
}

Result<NamedAddresses> addresses_of(const PlanOptions& options,
                                    const topology::Topology& topology) {
  if (options.lab) return lab_addresses(topology);
  if (options.addresses.empty()) return NamedAddresses();
  return read_addresses(options.addresses, topology);
}

Result<int> order_ranks(const PlanOptions& options, const topology::Topology& topology,
                        const planner::Demand& demand) {
  const Result<SimulatedOrder> simulated = simulate_orders(topology, demand, options.most_swaps);
  if (!simulated) return fail(simulated.error());
  print(options.json ? ranks_json(*simulated, topology).dump(1) + "\n"
                     : ranks_text(*simulated, topology));
  return kDone;
}

Result<int> make_plan(const PlanOptions& options) {
  const DemandSources& sources = options.sources;
  if (sources.workload.empty() && sources.matrix.empty() && sources.recording.empty()) {
    return fail(ErrorCode::kInvalid, "cannot plan paths", "it is not said what is sent",
                "give --workload, --matrix or --recording");
  }
  const Result<topology::Topology> topology = topology::read_topology_file(options.topology);
  if (!topology) return fail(topology.error());
  Result<PlanDemand> demand = read_demand(options.sources, *topology);
  if (!demand) return fail(demand.error());
  for (const std::string& note : demand->notes) print_warning(note);
  if (options.ranks) return order_ranks(options, *topology, demand->demand);
  planner::PathPlanOptions of_plan = options.plan;
  of_plan.failed_links = demand->failed_links;
  for (const std::string& each : options.failed) {
    const Result<uint32_t> link = link_named(each, *topology);
    if (!link) return fail(link.error());
    of_plan.failed_links.push_back(*link);
  }
  if (Result<void> added = add_others(options, *topology, demand->demand); !added) {
    return fail(added.error());
  }
  const auto addresses = addresses_of(options, *topology);
  if (!addresses) return fail(addresses.error());
  const Result<planner::PathPlan> plan = plan_of(options, *topology, demand->demand, of_plan);
  if (!plan) return fail(plan.error());
  const std::string document =
      plan_document({*plan, demand->demand, *topology, of_plan.failed_links, *addresses}).dump(1) +
      "\n";
  if (!options.output.empty()) {
    if (Result<void> written = write_output(options.output, document); !written) {
      return fail(written.error());
    }
  }
  print(options.json ? document : plan_text(*plan, !options.after.empty()));
  return plan->unreachable == 0 ? kDone : kFoundWrong;
}

int run_plan(const PlanOptions& options) {
  const Result<int> status = make_plan(options);
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

void add_sources(CLI::App& command, DemandSources& sources) {
  auto* const workload =
      command
          .add_option(
              "--workload", sources.workload,
              "what to place: flows and jobs of a workload file, htsim's .cm, a folder of Chakra "
              "traces, or AICB's .txt")
          ->type_name("FILE");
  auto* const matrix =
      command
          .add_option("--matrix", sources.matrix,
                      "or bytes from host to host: CSV with columns from, to, bytes")
          ->type_name("FILE");
  command.add_option("--recording", sources.recording, "or what a recorded job sent")
      ->type_name("DIR")
      ->excludes(workload)
      ->excludes(matrix);
  matrix->excludes(workload);
}

// Of `heddle plan --topology FILE advise ...` the advice would not know.
void refuse_options_of(const CLI::App& plan) {
  for (const CLI::Option* option : plan.get_options()) {
    if (option->count() == 0) continue;
    throw CLI::ValidationError(option->get_name(), "write options of advise after 'advise'");
  }
}

}  // namespace

void add_plan_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const plan =
      root.add_subcommand("plan", "place a workload's flows on the fabric's links");
  plan->footer(kExample + exit_status_help("some flows have no route", "could not run"));
  const auto options = std::make_shared<PlanOptions>();
  add_topology_option(*plan, options->topology, "the fabric: a topology file (required)");
  add_sources(*plan, options->sources);
  plan->add_option("-o,--output", options->output, "write the plan to this file")
      ->type_name("FILE");
  plan->add_option("--paths", options->plan.paths, "paths of a connection, 1 to 256")
      ->type_name("N")
      ->check(whole_number(1, 256))
      ->capture_default_str();
  plan->add_option("--split", options->plan.most_parts,
                   "most paths that a flow's bytes are divided among, on each of its NICs")
      ->type_name("N")
      ->check(whole_number(1, 64))
      ->capture_default_str();
  plan->add_flag("--swap-ranks", options->ranks,
                 "instead: which hosts should swap their ranks, each swap simulated");
  plan->add_option("--most-swaps", options->most_swaps, "with --swap-ranks: most swaps")
      ->type_name("N")
      ->check(whole_number(1, 1'000))
      ->capture_default_str();
  plan->add_option("--failed", options->failed, "a cable that is down, like leaf0:spine1")
      ->type_name("LINK")
      ->allow_extra_args(false);
  plan->add_option("--after", options->after,
                   "move only the flows of this plan that --failed cables concern")
      ->type_name("FILE");
  plan->add_option("--beside", options->beside, "a plan of another job, whose loads count")
      ->type_name("FILE")
      ->allow_extra_args(false);
  auto* const addresses =
      plan->add_option("--addresses", options->addresses,
                       "addresses and names of hosts and switches, as in /etc/hosts: real "
                       "transports can then follow the plan")
          ->type_name("FILE");
  plan->add_flag("--lab-addresses", options->lab,
                 "the same with the addresses of a lab of the topology")
      ->excludes(addresses);
  add_seed_option(*plan, options->sources.seed);
  add_json_option(*plan, options->json);
  add_advise_command(*plan, invocation);
  plan->callback([options, plan, &invocation] {
    if (!plan->get_subcommands().empty()) return refuse_options_of(*plan);
    if (options->topology.empty()) throw CLI::RequiredError("--topology");
    invocation.run = [options] { return run_plan(*options); };
  });
}

}  // namespace heddle::cli
