// Writing and reading plans: see plan_file.h.
#include "apps/cli/plan/plan_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "apps/cli/output.h"
#include "base/document.h"
#include "base/hash.h"
#include "base/version.h"

namespace heddle::cli {
namespace {

using nlohmann::json;

constexpr uint64_t kWhole = 1'000'000;
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

// A key that the schema does not have: it may change what the others mean.
std::optional<std::string> unknown_key(const json& object,
                                       std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) return key;
  }
  return std::nullopt;
}

// Equal for fabrics whose switches route equal entropies alike, over links of equal rates.
std::string fingerprint(const topology::Topology& topology) {
  uint64_t hash = 0;
  const auto add = [&hash](uint64_t value) { hash = mix_bits(hash + 0x9e3779b97f4a7c15 + value); };
  for (const topology::Host& each : topology.hosts) add(hash_text(each.name));
  for (const topology::Nic& each : topology.nics) add(each.host);
  for (const topology::Switch& each : topology.switches) add(each.hash_seed);
  for (const topology::Link& link : topology.links) {
    for (const topology::Node& end : {link.a, link.b}) {
      add(static_cast<uint64_t>(end.kind) << 32 | end.index);
    }
    add(link.shape.rate.count);
  }
  return fmt::format("{:016x}", hash);
}

using HostNumbers = std::unordered_map<std::string, uint32_t>;

std::optional<uint32_t> host(const json& flow, const char* name, const HostNumbers& hosts) {
  const auto found = flow.find(name);
  if (found == flow.end() || !found->is_string()) return std::nullopt;
  const auto known = hosts.find(found->get<std::string>());
  return known == hosts.end() ? std::nullopt : std::optional(known->second);
}

// What is wrong with the paths of a flow; empty: nothing.
std::string read_paths(const json& paths, uint16_t of_connection,
                       std::vector<transport::PlannedShare>& shares) {
  uint64_t sum = 0;
  for (const json& each : paths) {
    if (!each.is_object()) return "a path is no object";
    if (const auto key = unknown_key(each, {"path", "source_port", "share_per_million"})) {
      return "the unknown key '" + *key + "'";
    }
    const auto path = number(each, "path", of_connection - 1u);
    const auto share = number(each, "share_per_million", kWhole);
    if (!path || !share || *share == 0) return "a path without a number or a share";
    if (!shares.empty() && *path <= shares.back().path) return "paths that do not ascend";
    shares.push_back({static_cast<uint16_t>(*path), static_cast<uint32_t>(*share)});
    sum += *share;
  }
  return sum == kWhole || shares.empty() ? "" : "shares whose sum is not 1000000";
}

// Likewise.
std::string read_flow(const json& flow, const HostNumbers& hosts, PlanFile& plan) {
  if (!flow.is_object()) return "no object";
  if (const auto key = unknown_key(flow, {"from", "to", "payload_bytes", "paths"})) {
    return "the unknown key '" + *key + "'";
  }
  const auto from = host(flow, "from", hosts);
  const auto to = host(flow, "to", hosts);
  if (!from || !to) return "no hosts of the topology";
  const auto paths = flow.find("paths");
  if (paths == flow.end() || !paths->is_array()) return "no list of paths";
  const auto [entry, added] = plan.shares.try_emplace({*from, *to});
  return added ? read_paths(*paths, plan.paths, entry->second) : "hosts that an earlier one has";
}

// Of the whole document.
Result<void> check_head(const std::string& path, const json& document,
                        const topology::Topology& topology) {
  if (!document.is_object()) return bad(path, "it is no JSON object, or is cut off");
  const auto version = number(document, "version", UINT64_MAX);
  if (!version) return bad(path, "it has no version");
  if (*version != kPlanFileVersion) {
    return fail(ErrorCode::kVersion, "cannot use the plan " + path,
                "its version is " + std::to_string(*version) + ", and this build reads version " +
                    std::to_string(kPlanFileVersion),
                "make it with the 'heddle plan' of this build");
  }
  const auto key =
      unknown_key(document, {"heddle", "version", "fabric", "paths", "parts", "colored", "ecmp",
                             "spraying", "planned", "bound_us", "bound_between_switches_us",
                             "no_gain", "unreachable", "flows"});
  if (key) return bad(path, "it has the unknown key '" + *key + "'");
  const auto fabric = document.find("fabric");
  if (fabric == document.end() || *fabric != json(fingerprint(topology))) {
    return bad(path, "it is of another fabric, whose switches send its paths elsewhere");
  }
  return {};
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
          {"fabric", fingerprint(topology)},
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
  if (Result<void> fits = check_head(path, document, topology); !fits) return fail(fits.error());
  PlanFile plan;
  plan.paths = static_cast<uint16_t>(number(document, "paths", 256).value_or(0));
  if (plan.paths == 0) return bad(path, "'paths' is no number from 1 to 256");
  const auto flows = document.find("flows");
  if (flows == document.end() || !flows->is_array()) return bad(path, "it has no list 'flows'");
  HostNumbers hosts;
  for (uint32_t i = 0; i < topology.hosts.size(); ++i) hosts[topology.hosts[i].name] = i;
  for (size_t i = 0; i < flows->size(); ++i) {
    const std::string wrong = read_flow((*flows)[i], hosts, plan);
    if (!wrong.empty()) return bad(path, "flows[" + std::to_string(i) + "] has " + wrong);
  }
  return plan;
}

}  // namespace heddle::cli
