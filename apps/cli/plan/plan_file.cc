// Writing and reading plans: see plan_file.h.
#include "apps/cli/plan/plan_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "apps/cli/output.h"
#include "base/document.h"
#include "base/version.h"
#include "planner/plan_routes.h"
#include "topology/fingerprint.h"
#include "topology/names.h"

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
    if (const auto key = unknown_key(each, {"path", "source_port", "share_per_million", "via"})) {
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
  plan.bytes[{*from, *to}] = number(flow, "payload_bytes", UINT64_MAX).value_or(0);
  const auto [entry, added] = plan.shares.try_emplace({*from, *to});
  return added ? read_paths(*paths, plan.paths, entry->second) : "hosts that an earlier one has";
}

// Links by the labels that plan_document() gives them.
Result<void> read_failed(const std::string& path, const json& document,
                         const topology::Topology& topology, PlanFile& plan) {
  const auto failed = document.find("failed_links");
  if (failed == document.end() || failed->empty()) return {};
  if (!failed->is_array()) return bad(path, "'failed_links' is no list");
  for (const json& each : *failed) {
    if (!each.is_string()) return bad(path, "'failed_links' has something else than text");
    const Result<uint32_t> link = link_named(each.get<std::string>(), topology);
    if (!link) return fail(link.error());
    plan.failed_links.push_back(*link);
  }
  return {};
}

// Of the whole document.
Result<void> check_head(const std::string& path, const json& document,
                        const topology::Topology& topology) {
  if (!document.is_object()) return bad(path, "it is no JSON object, or is cut off");
  const auto version = number(document, "version", UINT64_MAX);
  if (!version) return bad(path, "it has no version");
  if (*version != kPlanFileVersion) {
    return fail(ErrorCode::kVersion, "cannot use the plan " + path,
                "its version is " + std::to_string(*version) + ", and this heddle reads version " +
                    std::to_string(kPlanFileVersion),
                *version > kPlanFileVersion
                    ? "upgrade this heddle"
                    : "make it anew with this 'heddle plan', or use the older heddle");
  }
  const auto key = unknown_key(
      document, {"heddle", "version", "fabric", "paths", "parts", "colored", "ecmp", "spraying",
                 "planned", "bound_us", "bound_between_switches_us", "no_gain", "unreachable",
                 "kept", "failed_links", "addresses", "background", "flows"});
  if (key) return bad(path, "it has the unknown key '" + *key + "'");
  const auto fabric = document.find("fabric");
  if (fabric == document.end() || *fabric != json(topology::fingerprint(topology))) {
    return bad(path, "it is of another fabric, whose switches send its paths elsewhere");
  }
  return {};
}

}  // namespace

namespace {

// Names of the switches of a flow's paths, one list a path.
json switch_names(const std::vector<uint32_t>& switches, const topology::Topology& topology) {
  json names = json::array();
  for (const uint32_t each : switches) names.push_back(topology.switches[each].name);
  return names;
}

json flows_json(const MadePlan& made) {
  const std::vector<planner::PathEndpoint>& endpoints = made.demand.endpoints;
  std::optional<planner::PlanRoutes> routes;
  if (!made.addresses.empty()) {
    routes.emplace(
        planner::PlanSetting{made.topology, made.demand, made.plan.paths, made.failed_links});
  }
  json flows = json::array();
  for (const planner::PlannedFlow& flow : made.plan.flows) {
    json paths = json::array();
    std::vector<std::vector<uint32_t>> switches;
    if (routes) switches = routes->switches(flow);
    for (size_t i = 0; i < flow.paths.size(); ++i) {
      const planner::PlannedPath& path = flow.paths[i];
      json each = {{"path", path.path},
                   {"source_port", endpoints[flow.demand.from].first_source_port + path.path},
                   {"share_per_million", path.share_per_million}};
      if (routes) each["via"] = switch_names(switches[i], made.topology);
      paths.push_back(std::move(each));
    }
    flows.push_back({{"from", made.topology.hosts[endpoints[flow.demand.from].host].name},
                     {"to", made.topology.hosts[endpoints[flow.demand.to].host].name},
                     {"payload_bytes", flow.demand.bytes},
                     {"paths", std::move(paths)}});
  }
  return flows;
}

}  // namespace

json plan_document(const MadePlan& made) {
  const planner::PathPlan& plan = made.plan;
  json failed = json::array();
  for (const uint32_t link : made.failed_links) {
    failed.push_back(topology::link_label(made.topology, link));
  }
  json document = {{"heddle", kVersion},
                   {"version", kPlanFileVersion},
                   {"fabric", topology::fingerprint(made.topology)},
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
                   {"kept", plan.kept},
                   {"failed_links", std::move(failed)},
                   {"flows", flows_json(made)}};
  if (!made.background.is_null()) document["background"] = made.background;
  for (const auto& [name, address] : made.addresses) {
    document["addresses"][name].push_back(address);
  }
  return document;
}

// "leaf0 - spine1 #1", with or without spaces, and with ":" instead of "-".
Result<uint32_t> link_named(const std::string& text, const topology::Topology& topology) {
  const std::string::size_type dash = text.find(" - ");
  const std::string::size_type middle = dash != std::string::npos ? dash : text.find(':');
  const std::string::size_type hash = text.find('#');
  if (middle == std::string::npos) {
    return fail(ErrorCode::kInvalid, "cannot use the link '" + text + "'", "it has one end",
                "write leaf0:spine1, or leaf0:spine1#1 for the second of several");
  }
  const auto trimmed = [](const std::string& part) {
    const size_t first = part.find_first_not_of(' ');
    if (first == std::string::npos) return std::string();
    return part.substr(first, part.find_last_not_of(' ') + 1 - first);
  };
  uint32_t number = 0;
  if (hash != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [behind, wrong] = std::from_chars(text.data() + hash + 1, end, number);
    if (wrong != std::errc() || behind != end) {
      return fail(ErrorCode::kInvalid, "cannot use the link '" + text + "'",
                  "behind '#' is no number", "write leaf0:spine1#1 for the second of several");
    }
  }
  const size_t second = middle + (dash != std::string::npos ? 3 : 1);
  const Result<topology::LinkEnds> ends =
      topology::find_link(topology, trimmed(text.substr(0, middle)),
                          trimmed(text.substr(second, hash - second)), number);
  if (!ends) return fail(ends.error());
  return ends->link;
}

std::vector<planner::PlannedFlow> PlanFile::flows() const {
  std::vector<planner::PlannedFlow> flows;
  for (const auto& [pair, own] : shares) {
    planner::PlannedFlow flow{{pair.first, pair.second, bytes.at(pair)}, {}};
    for (const transport::PlannedShare& each : own) {
      flow.paths.push_back({each.path, each.share_per_million});
    }
    flows.push_back(std::move(flow));
  }
  return flows;
}

Result<PlanFile> read_plan_file(const std::string& path, const topology::Topology& topology) {
  const Result<std::string> text = read_text_file(path, "check the path of the plan");
  if (!text) return fail(text.error());
  const json document = json::parse(*text, nullptr, false);
  if (Result<void> fits = check_head(path, document, topology); !fits) return fail(fits.error());
  PlanFile plan;
  plan.paths = static_cast<uint16_t>(number(document, "paths", 256).value_or(0));
  if (plan.paths == 0) return bad(path, "'paths' is no number from 1 to 256");
  if (Result<void> read = read_failed(path, document, topology, plan); !read) {
    return fail(read.error());
  }
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
