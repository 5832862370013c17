// A workload on real hosts: see replay_plan.h.
#include "jobs/replay_plan.h"

#include <fmt/core.h>

#include <cstdlib>
#include <utility>

#include "base/quantity.h"
#include "launch/plan.h"
#include "topology/file.h"
#include "topology/generators.h"
#include "topology/workload_file.h"

namespace heddle::jobs {
namespace {

using topology::Flow;
using topology::kNoTrigger;

Unexpected cannot(const std::string& why, const std::string& todo) {
  return fail(ErrorCode::kInvalid, "cannot run the workload on real hosts", why, todo);
}

bool lab_is_meant(const ReplayOptions& options) {
  if (!options.lab.empty()) return true;
  if (!options.topology.empty() || options.hosts > 0) return false;
  const char* const inherited = std::getenv("HEDDLE_LAB");
  return (inherited != nullptr && *inherited != '\0') || !lab::lab_names().empty();
}

Result<ReplayPlan> with_topology(const ReplayOptions& options) {
  ReplayPlan plan;
  if (lab_is_meant(options)) {
    Result<lab::Lab> lab = lab::open_lab(options.lab);
    if (!lab) return fail(std::move(lab).error());
    plan.topology = lab->layout.topology;
    plan.lab = std::move(*lab);
    return plan;
  }
  if (options.hosts > 0) {
    plan.topology =
        topology::leaf_spine({.leaves = 1, .spines = 1, .hosts_per_leaf = options.hosts});
    return plan;
  }
  if (options.topology.empty()) {
    return fail(ErrorCode::kInvalid, "cannot determine which hosts the workload is for",
                "no lab is up",
                "run it by `heddle lab run TOPOLOGY -- heddle workload run FILE`, or give -n HOSTS "
                "to run all of it on this machine");
  }
  Result<topology::Topology> topology = topology::read_topology_file(options.topology);
  if (!topology) return fail(std::move(topology).error());
  plan.topology = std::move(*topology);
  return plan;
}

// A host knows of its own flows alone.
Result<void> check_triggers(const topology::Workload& workload) {
  std::vector<std::optional<uint32_t>> owners(workload.triggers.size());
  const auto take = [&owners](uint32_t trigger, uint32_t host) {
    return trigger == kNoTrigger || owners[trigger].value_or(host) == host;
  };
  for (const Flow& flow : workload.flows) {
    for (const uint32_t each : {flow.waits_for, flow.when_sent, flow.when_received}) {
      if (!take(each, flow.from)) {
        return cannot(fmt::format("flow {} waits for, or sets off, flows of another host", flow.id),
                      "simulate it with `heddle sim`");
      }
      if (each != kNoTrigger) owners[each] = flow.from;
    }
  }
  return {};
}

}  // namespace

Result<std::vector<ReplayRole>> roles_of(const topology::Workload& workload, uint32_t hosts) {
  if (Result<void> fit = check_triggers(workload); !fit) return fail(fit.error());
  if (!workload.failed_links.empty()) {
    return cannot("links are down in it from the start",
                  "leave them out, and let `heddle lab fault down` break links");
  }
  std::vector<ReplayRole> roles;
  for (uint32_t job = 0; job < workload.jobs.size(); ++job) {
    const auto& ranks = workload.jobs[job].ranks;
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      roles.push_back({.host = ranks[rank].host, .job = job, .rank = rank});
    }
  }
  std::vector<bool> has_flows(hosts);
  for (const Flow& flow : workload.flows) has_flows[flow.from] = has_flows[flow.to] = true;
  for (uint32_t host = 0; host < hosts; ++host) {
    if (has_flows[host]) roles.push_back({.host = host, .job = std::nullopt, .rank = 0});
  }
  if (roles.size() <= launch::params::kMostLocalRanks) return roles;
  return cannot("it would take " + count_text(roles.size()) + " processes",
                fmt::format("give it at most {} ranks and hosts", launch::params::kMostLocalRanks));
}

Result<ReplayPlan> plan_replay(const ReplayOptions& options) {
  Result<ReplayPlan> plan = with_topology(options);
  if (!plan) return plan;
  Result<topology::Workload> workload =
      topology::read_workload_file(options.workload, plan->topology, options.seed);
  if (!workload) return fail(std::move(workload).error());
  plan->workload = std::move(*workload);
  const auto hosts = static_cast<uint32_t>(plan->topology.hosts.size());
  Result<std::vector<ReplayRole>> roles = roles_of(plan->workload, hosts);
  if (!roles) return fail(std::move(roles).error());
  plan->roles = std::move(*roles);
  plan->flow_roles.resize(hosts);
  for (uint32_t i = 0; i < plan->roles.size(); ++i) {
    if (!plan->roles[i].job) plan->flow_roles[plan->roles[i].host] = i;
  }
  return plan;
}

}  // namespace heddle::jobs
