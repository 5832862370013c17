// See followed_plans.h.
#include "apps/cli/sim/followed_plans.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "apps/cli/output.h"
#include "apps/cli/plan/job_demand.h"
#include "apps/cli/plan/plan_file.h"
#include "apps/cli/terminal.h"
#include "base/quantity.h"

namespace heddle::cli {
namespace {

struct Surroundings {
  const topology::Topology& topology;
  const topology::Workload& workload;
};

// Flows without a plan, and pairs of hosts whose ranks send to each other without one. A plan that
// has some of them is of this workload.
void warn_of_unplanned(const simulator::FlowPlan& plan, const std::string& file,
                       const Surroundings& of) {
  const auto warn = [&file](uint64_t unplanned, uint64_t all, const std::string& what) {
    if (unplanned == 0) return;
    print_warning(fmt::format(
        "{} of {} not in {}: connections without a plan choose paths like reps{}",
        count_text(unplanned), what, file,
        unplanned == all ? ". Plan with the same --workload and --seed" : ", the others follow"));
  };
  const std::vector<topology::Flow>& flows = of.workload.flows;
  warn(static_cast<uint64_t>(std::count_if(flows.begin(), flows.end(),
                                           [&plan](const topology::Flow& flow) {
                                             return plan.count({flow.from, flow.to}) == 0;
                                           })),
       flows.size(), counted_text(flows.size(), "flow"));
  HostBytes of_jobs;
  for (const topology::Job& job : of.workload.jobs) add_job(job, of.topology, of_jobs);
  warn(static_cast<uint64_t>(
           std::count_if(of_jobs.begin(), of_jobs.end(),
                         [&plan](const auto& each) { return plan.count(each.first) == 0; })),
       of_jobs.size(), counted_text(of_jobs.size(), "pair") + " of hosts that jobs send between");
}

Result<simulator::Replan> read_later(const std::string& text, const std::string& first,
                                     const Surroundings& of, uint16_t paths) {
  const size_t colon = text.find(':');
  const Result<Nanos> at = parse_duration(text.substr(0, colon));
  const std::string file = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (!at || at->count < 0 || file.empty()) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot follow another plan at '{}'", text),
                "it is not a time and a file", "write both, like 2ms:plan2.json");
  }
  Result<PlanFile> plan = read_plan_file(file, of.topology);
  if (!plan) return fail(plan.error());
  if (plan->paths != paths) {
    return fail(
        ErrorCode::kInvalid, "cannot follow the plan " + file,
        fmt::format("it has {} paths of a connection, {} has {}", plan->paths, first, paths),
        "plan with the same --paths");
  }
  warn_of_unplanned(plan->shares, file, of);
  return simulator::Replan{*at, std::move(plan->shares)};
}

}  // namespace

Result<void> take_plans(const FollowedPlans& plans, const topology::Topology& topology,
                        const topology::Workload& workload, simulator::FlowRunOptions& run) {
  if (run.roce) {
    return fail(ErrorCode::kInvalid, "cannot follow the plan " + plans.first,
                "RoCE NICs have one path", "leave out --transport roce");
  }
  const Surroundings of{topology, workload};
  Result<PlanFile> plan = read_plan_file(plans.first, topology);
  if (!plan) return fail(plan.error());
  run.selector = "plan";
  run.paths = plan->paths;
  run.plan = std::move(plan->shares);
  warn_of_unplanned(run.plan, plans.first, of);
  for (const std::string& text : plans.later) {
    Result<simulator::Replan> later = read_later(text, plans.first, of, run.paths);
    if (!later) return fail(later.error());
    run.replans.push_back(std::move(*later));
  }
  std::stable_sort(
      run.replans.begin(), run.replans.end(),
      [](const simulator::Replan& a, const simulator::Replan& b) { return a.at < b.at; });
  return {};
}

}  // namespace heddle::cli
