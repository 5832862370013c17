// Writing and reading plans: see plan_file.h.
#include "apps/cli/plan/plan_file.h"

#include <array>
#include <optional>
#include <unordered_map>

#include "apps/cli/output.h"
#include "base/document.h"
#include "base/version.h"

namespace heddle::cli {
namespace {

using nlohmann::json;

constexpr std::array kNoGainNames = {"none", "nics", "one_route", "even"};

json times_json(const planner::LongestTimes& times) {
  return {{"between_switches_us", times.between_switches * 1e-3},
          {"nics_us", times.of_nics * 1e-3}};
}

Unexpected bad(const std::string& path, const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot use the plan " + path, why,
              "make it with 'heddle plan' for this topology");
}

std::optional<uint64_t> number(const json& object, const char* name, uint64_t most) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto value = found->get<uint64_t>();
  return value <= most ? std::optional(value) : std::nullopt;
}

using HostNumbers = std::unordered_map<std::string, uint32_t>;

std::optional<uint32_t> host(const json& flow, const char* name, const HostNumbers& hosts) {
  const auto found = flow.find(name);
  if (found == flow.end() || !found->is_string()) return std::nullopt;
  const auto known = hosts.find(found->get<std::string>());
  return known == hosts.end() ? std::nullopt : std::optional(known->second);
}

// False: it is no flow of a plan for these hosts.
bool read_flow(const json& flow, const HostNumbers& hosts, PlanFile& plan) {
  if (!flow.is_object()) return false;
  const auto from = host(flow, "from", hosts);
  const auto to = host(flow, "to", hosts);
  const auto paths = flow.find("paths");
  if (!from || !to || paths == flow.end() || !paths->is_array()) return false;
  std::vector<transport::PlannedShare>& shares = plan.shares[{*from, *to}];
  for (const json& each : *paths) {
    if (!each.is_object()) return false;
    const auto path = number(each, "path", plan.paths - 1u);
    const auto share = number(each, "share_per_million", 1'000'000);
    if (!path || !share) return false;
    shares.push_back({static_cast<uint16_t>(*path), static_cast<uint32_t>(*share)});
  }
  return true;
}

}  // namespace

json plan_document(const planner::PathPlan& plan, const planner::Demand& demand,
                   const topology::Topology& topology) {
  json flows = json::array();
  for (const planner::PlannedFlow& flow : plan.flows) {
    json paths = json::array();
    for (const planner::PlannedPath& path : flow.paths) {
      paths.push_back(
          {{"path", path.path},
           {"source_port", demand.endpoints[flow.demand.from].first_source_port + path.path},
           {"share_per_million", path.share_per_million}});
    }
    flows.push_back({{"from", topology.hosts[demand.endpoints[flow.demand.from].host].name},
                     {"to", topology.hosts[demand.endpoints[flow.demand.to].host].name},
                     {"payload_bytes", flow.demand.bytes},
                     {"paths", std::move(paths)}});
  }
  return {{"heddle", kVersion},
          {"version", kPlanFileVersion},
          {"paths", plan.paths},
          {"parts", plan.parts},
          {"colored", plan.colored},
          {"ecmp", times_json(plan.ecmp)},
          {"spraying", times_json(plan.spraying)},
          {"planned", times_json(plan.planned)},
          {"bound_us", plan.bound() * 1e-3},
          {"bound_between_switches_us", plan.bound_between * 1e-3},
          {"no_gain", kNoGainNames[static_cast<size_t>(plan.no_gain)]},
          {"unreachable", plan.unreachable},
          {"flows", std::move(flows)}};
}

Result<PlanFile> read_plan_file(const std::string& path, const topology::Topology& topology) {
  const Result<std::string> text = read_text_file(path, "check the path of the plan");
  if (!text) return fail(text.error());
  const json document = json::parse(*text, nullptr, false);
  if (!document.is_object()) return bad(path, "it is no JSON object");
  const auto version = number(document, "version", UINT64_MAX);
  if (!version) return bad(path, "it has no version");
  if (*version != kPlanFileVersion) {
    return fail(ErrorCode::kVersion, "cannot use the plan " + path,
                "its version is " + std::to_string(*version) + ", and this build reads version " +
                    std::to_string(kPlanFileVersion),
                "make it with the 'heddle plan' of this build");
  }
  PlanFile plan;
  plan.paths = static_cast<uint16_t>(number(document, "paths", 256).value_or(0));
  if (plan.paths == 0) return bad(path, "'paths' is no number from 1 to 256");
  const auto flows = document.find("flows");
  if (flows == document.end() || !flows->is_array()) return bad(path, "it has no list 'flows'");
  HostNumbers hosts;
  for (uint32_t i = 0; i < topology.hosts.size(); ++i) hosts[topology.hosts[i].name] = i;
  for (size_t i = 0; i < flows->size(); ++i) {
    if (read_flow((*flows)[i], hosts, plan)) continue;
    return bad(path, "flows[" + std::to_string(i) +
                         "] lacks a host of the topology, or paths with shares");
  }
  return plan;
}

}  // namespace heddle::cli
