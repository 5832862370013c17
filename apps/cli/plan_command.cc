// `heddle plan`: see plan_command.h.
#include "apps/cli/plan_command.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/output.h"
#include "apps/cli/plan/advise_command.h"
#include "apps/cli/plan/keep_command.h"
#include "apps/cli/plan/lease_command.h"
#include "apps/cli/plan/leases_command.h"
#include "apps/cli/plan/plan_file.h"
#include "apps/cli/plan/plan_inputs.h"
#include "apps/cli/plan/rank_report.h"
#include "apps/cli/terminal.h"
#include "base/quantity.h"
#include "planner/path_replan.h"
#include "planner/plan_routes.h"
#include "planner/shared_fabric.h"
#include "topology/names.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle plan --topology fabric.toml --workload ring.toml -o plan.json
  heddle sim --topology fabric.toml --workload ring.toml --plan plan.json
  heddle plan --topology fabric.toml --workload ring.toml --after plan.json --failed leaf0:spine1
  heddle plan --topology fabric.toml --recording job --beside other.json -o plan.json
  heddle plan advise job --topology fabric.toml
  heddle plan lease --leases leases --job a --topology fabric.toml --workload ring.toml -- train.sh

A plan gives each connection the paths whose packets the switches' hash sends over the right
links, and each path's share of the bytes. All flows count as concurrent. Of a workload's jobs each
call is placed by the formula of its algorithm.)";

struct PlanOptions {
  PlanInputs inputs;
  std::string output;
  std::string after;
  std::vector<std::string> beside;
  bool ranks = false;
  uint32_t most_swaps = 8;
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
  const std::string not_planned = fmt::format(
      "{}, which have no route over links that work, or none of at most {} links.\n",
      counted_text(plan.unreachable, "part") + " of flows", planner::params::kMostRouteLinks);
  if (plan.unreachable > 0 && plan.bound() <= 0) return text + "Nothing is planned: " + not_planned;
  text += "Time of the most loaded link, and as a multiple of the lower bound:\n";
  text += "  ECMP, one path    " + time_text(plan.ecmp.longest(), plan.bound());
  text += "  spraying evenly   " + time_text(plan.spraying.longest(), plan.bound());
  text += "  plan              " + time_text(plan.planned.longest(), plan.bound());
  text += "  lower bound       " + time_text(plan.bound(), plan.bound());
  if (plan.unreachable > 0) text += "Not planned: " + not_planned;
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
  std::vector<std::string> down;
  for (const uint32_t link : earlier->failed_links) {
    of_plan.failed_links.push_back(link);
    down.push_back(topology::link_label(topology, link));
  }
  if (!down.empty()) {
    print_warning(fmt::format("down as in {}, too: {}; plan without --after when they work again",
                              options.after, fmt::join(down, ", ")));
  }
  const bool asked = of_plan.paths != planner::PathPlanOptions().paths;
  if (asked && of_plan.paths != earlier->paths) {
    return fail(ErrorCode::kInvalid, "cannot move flows of " + options.after,
                fmt::format("its connections have {}, not {}", counted_text(earlier->paths, "path"),
                            of_plan.paths),
                "leave out --paths, or plan without --after");
  }
  of_plan.paths = earlier->paths;
  planner::EarlierPlan known{{}, earlier->failed_links};
  for (planner::PlannedFlow& flow : earlier->flows()) {
    known.paths[{flow.demand.from, flow.demand.to}] = std::move(flow.paths);
  }
  const auto added =
      std::count_if(demand.flows.begin(), demand.flows.end(), [&](const planner::FlowDemand& flow) {
        return !known.paths.contains(
            {demand.endpoints[flow.from].host, demand.endpoints[flow.to].host});
      });
  if (added > 0) {
    print_warning(fmt::format("{} of {} are not in {}: they are planned anew", added,
                              counted_text(demand.flows.size(), "flow"), options.after));
  }
  Result<planner::PathPlan> plan = planner::replan_paths(topology, demand, of_plan, known);
  if (plan) planner::measure_plan(topology, demand, of_plan, *plan);
  return plan;
}

Result<int> order_ranks(const PlanOptions& options, const topology::Topology& topology,
                        const planner::Demand& demand) {
  const Result<SimulatedOrder> simulated = simulate_orders(topology, demand, options.most_swaps);
  if (!simulated) return fail(simulated.error());
  print(options.json ? ranks_json(*simulated, topology).dump(1) + "\n"
                     : ranks_text(*simulated, topology));
  return kDone;
}

// What counters forecast counts as others' loads.
Result<std::optional<Background>> add_background(ReadPlanInputs& read) {
  if (read.background.file.empty()) return std::optional<Background>();
  Result<Background> background =
      read_background(read.background, read.topology, read.demand, read.options, {});
  if (!background) return fail(background.error());
  for (const std::string& note : background->notes) print_warning(note);
  planner::keep_usable(read.topology, read.demand, background->bytes);
  read.demand.background = background->bytes;
  return std::optional(std::move(*background));
}

// The plan of --after may be replaced by the one that follows it.
Result<void> check_plan_output(const PlanOptions& options) {
  for (const std::string& file : options.beside) {
    std::error_code missing;
    if (options.output.empty() || !std::filesystem::equivalent(file, options.output, missing)) {
      continue;
    }
    return fail(ErrorCode::kInvalid, "cannot write the plan to " + options.output,
                "it is the other job's, which --beside names", "give another file with -o");
  }
  return check_output(options.inputs, options.output);
}

Result<int> make_plan(const PlanOptions& options) {
  if (Result<void> good = check_plan_output(options); !good) return fail(good.error());
  Result<ReadPlanInputs> read = read_plan_inputs(options.inputs);
  if (!read) return fail(read.error());
  for (const std::string& note : read->notes) print_warning(note);
  if (options.ranks) return order_ranks(options, read->topology, read->demand);
  const Result<std::optional<Background>> background = add_background(*read);
  if (!background) return fail(background.error());
  if (Result<void> added = add_others(options, read->topology, read->demand); !added) {
    return fail(added.error());
  }
  const Result<planner::PathPlan> plan =
      plan_of(options, read->topology, read->demand, read->options);
  if (!plan) return fail(plan.error());
  const std::string document =
      plan_document({*plan, read->demand, read->topology, read->options.failed_links,
                     read->addresses,
                     *background ? background_json(**background) : nlohmann::json()})
          .dump(1) +
      "\n";
  if (!options.output.empty()) {
    if (Result<void> written = write_output(options.output, document); !written) {
      return fail(written.error());
    }
  }
  print(options.json ? document
                     : plan_text(*plan, !options.after.empty()) +
                           (*background ? background_text(**background) : ""));
  return plan->unreachable == 0 ? kDone : kFoundWrong;
}

int run_plan(const PlanOptions& options) {
  const Result<int> status = make_plan(options);
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

// Of `heddle plan --topology FILE advise ...` the subcommand would not know.
void refuse_options_of(const CLI::App& plan) {
  for (const CLI::Option* option : plan.get_options()) {
    if (option->count() == 0) continue;
    const std::string& name = plan.get_subcommands().front()->get_name();
    throw CLI::ValidationError(option->get_name(),
                               "write options of " + name + " after '" + name + "'");
  }
}

}  // namespace

void add_plan_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const plan =
      root.add_subcommand("plan", "place a workload's flows on the fabric's links");
  plan->footer(kExample + exit_status_help("some flows have no route", "could not run"));
  const auto options = std::make_shared<PlanOptions>();
  add_plan_inputs(*plan, options->inputs);
  plan->add_option("-o,--output", options->output, "write the plan to this file")
      ->type_name("FILE");
  plan->add_flag("--swap-ranks", options->ranks,
                 "instead: which hosts should swap their ranks, each swap simulated");
  plan->add_option("--most-swaps", options->most_swaps, "with --swap-ranks: most swaps")
      ->type_name("N")
      ->check(whole_number(1, 1'000))
      ->capture_default_str();
  plan->add_option("--after", options->after,
                   "move only the flows of this plan that --failed cables concern")
      ->type_name("FILE");
  plan->add_option("--beside", options->beside, "a plan of another job, whose loads count")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->excludes("--background");
  add_json_option(*plan, options->json);
  add_advise_command(*plan, invocation);
  add_keep_command(*plan, invocation);
  add_lease_command(*plan, invocation);
  add_leases_command(*plan, invocation);
  plan->callback([options, plan, &invocation] {
    if (!plan->get_subcommands().empty()) return refuse_options_of(*plan);
    if (options->inputs.topology.empty()) throw CLI::RequiredError("--topology");
    invocation.run = [options] { return run_plan(*options); };
  });
}

}  // namespace heddle::cli
