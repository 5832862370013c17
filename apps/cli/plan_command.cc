// `heddle plan`: see plan_command.h.
#include "apps/cli/plan_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/output.h"
#include "apps/cli/plan/plan_file.h"
#include "apps/cli/terminal.h"
#include "base/quantity.h"
#include "topology/file.h"
#include "topology/workload_file.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle plan --topology fabric.toml --workload ring.toml -o plan.json
  heddle sim --topology fabric.toml --workload ring.toml --plan plan.json

A plan gives each connection the paths whose packets the switches' hash sends over the right
links, and each path's share of the bytes. All flows of the workload count as concurrent.)";

struct PlanOptions {
  std::string topology;
  std::string workload;
  std::string output;
  uint64_t seed = 1;
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

std::string plan_text(const planner::PathPlan& plan) {
  std::string text =
      fmt::format("{}, {} of a connection\n", counted_text(plan.flows.size(), "flow"),
                  counted_text(plan.paths, "path"));
  text += "Time of the most loaded link, and as a multiple of the lower bound:\n";
  text += "  ECMP, one path    " + time_text(plan.ecmp.longest(), plan.bound());
  text += "  spraying evenly   " + time_text(plan.spraying.longest(), plan.bound());
  text += "  plan              " + time_text(plan.planned.longest(), plan.bound());
  text += "  lower bound       " + time_text(plan.bound(), plan.bound());
  return text + why_text(plan.no_gain);
}

Result<int> make_plan(const PlanOptions& options) {
  const Result<topology::Topology> topology = topology::read_topology_file(options.topology);
  if (!topology) return fail(topology.error());
  const Result<topology::Workload> workload =
      topology::read_workload_file(options.workload, *topology, options.seed);
  if (!workload) return fail(workload.error());
  if (!workload->jobs.empty()) {
    return fail(ErrorCode::kInvalid, "cannot plan paths for " + options.workload,
                "it has jobs, and only flows are planned", "give their messages as flows");
  }
  planner::PathPlanOptions of_plan = options.plan;
  of_plan.failed_links = workload->failed_links;
  const planner::Demand demand = planner::demand_of_flows(*workload, *topology);
  const Result<planner::PathPlan> plan = planner::plan_paths(*topology, demand, of_plan);
  if (!plan) return fail(plan.error());
  const std::string document = plan_document(*plan, demand, *topology).dump(1) + "\n";
  if (!options.output.empty()) {
    if (Result<void> written = write_output(options.output, document); !written) {
      return fail(written.error());
    }
  }
  print(options.json ? document : plan_text(*plan));
  return plan->unreachable == 0 ? kDone : kFoundWrong;
}

int run_plan(const PlanOptions& options) {
  const Result<int> status = make_plan(options);
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

void add_plan_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const plan =
      root.add_subcommand("plan", "place a workload's flows on the fabric's links");
  plan->footer(kExample + exit_status_help("some flows have no route", "could not run"));
  const auto options = std::make_shared<PlanOptions>();
  add_topology_option(*plan, options->topology, "the fabric: a topology file")->required();
  plan->add_option("--workload", options->workload,
                   "the flows to place: a workload file, or htsim's .cm")
      ->type_name("FILE")
      ->required();
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
  add_seed_option(*plan, options->seed);
  add_json_option(*plan, options->json);
  plan->callback(
      [options, &invocation] { invocation.run = [options] { return run_plan(*options); }; });
}

}  // namespace heddle::cli
