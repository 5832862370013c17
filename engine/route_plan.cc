// Reading a plan, and fitting it to what discovery found: see route_plan.h.
#include "engine/route_plan.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_depth.h"
#include "engine/addresses.h"
#include "engine/params.h"

namespace heddle::engine {
namespace {

using nlohmann::json;
using transport::Address;

constexpr uint64_t kVersion = 2;
constexpr uint32_t kWhole = 1'000'000;

Unexpected bad(const std::string& file, const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot follow the plan " + file, why,
              "make it with 'heddle plan --addresses' for this fabric");
}

// Numeric addresses only: names would have to be resolved.
std::optional<std::array<uint8_t, 16>> address_at(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789abcdefABCDEF.:") != std::string::npos) {
    return std::nullopt;
  }
  const bool v6 = text.find(':') != std::string::npos;
  const Result<Address> address = find_address(v6 ? "[" + text + "]" : text, 0);
  return address ? std::optional(address->host) : std::nullopt;
}

std::string text_at(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// What is wrong with the routes of a flow; empty: nothing.
std::string read_routes(const json& flow, std::vector<PlannedRoute>& routes) {
  const auto paths = flow.find("paths");
  if (paths == flow.end() || !paths->is_array()) return "a flow without a list of paths";
  if (paths->size() > params::kMostPlanPaths) {
    return "a flow of more than " + std::to_string(params::kMostPlanPaths) + " paths";
  }
  uint64_t sum = 0;
  for (const json& each : *paths) {
    const auto via = each.find("via");
    if (via == each.end() || !via->is_array()) return "a path without the switches of its route";
    const auto share = each.find("share_per_million");
    if (share == each.end() || !share->is_number_unsigned() || *share == 0U) {
      return "a path without a share";
    }
    const auto million = static_cast<uint32_t>(std::min<uint64_t>(share->get<uint64_t>(), kWhole));
    sum += million;
    std::vector<std::string> names;
    for (const json& name : *via) names.push_back(name.is_string() ? name.get<std::string>() : "");
    const auto same = std::find_if(routes.begin(), routes.end(),
                                   [&names](const PlannedRoute& it) { return it.via == names; });
    if (same != routes.end()) {
      same->share_per_million = std::min(same->share_per_million + million, kWhole);
    } else {
      routes.push_back({std::move(names), million});
    }
  }
  return sum == kWhole || paths->empty() ? "" : "shares whose sum is not 1000000";
}

}  // namespace

Result<RoutePlan> RoutePlan::parse(const std::string& text, const std::string& file,
                                   std::span<const Address> own) {
  if (json_nests_deeper(text, params::kMostPlanDepth)) {
    return bad(file, "it nests deeper than " + std::to_string(params::kMostPlanDepth) + " levels");
  }
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object()) return bad(file, "it is no JSON object, or is cut off");
  const auto version = document.find("version");
  if (version == document.end() || *version != json(kVersion)) {
    const bool newer = version != document.end() && version->is_number_unsigned() &&
                       version->get<uint64_t>() > kVersion;
    return fail(ErrorCode::kVersion, "cannot follow the plan " + file,
                "its version is not " + std::to_string(kVersion),
                newer ? "upgrade this heddle" : "make it anew with this 'heddle plan'");
  }
  const auto addresses = document.find("addresses");
  if (addresses == document.end() || !addresses->is_object()) {
    return bad(file, "it has no addresses, so its routes cannot be recognized");
  }
  RoutePlan plan;
  for (const auto& [name, list] : addresses->items()) {
    for (const json& each : list) {
      const auto address = each.is_string() ? address_at(each.get<std::string>()) : std::nullopt;
      if (!address) return bad(file, "the addresses of '" + name + "' have something else");
      const std::string& other = plan.names_.try_emplace(*address, name).first->second;
      if (other != name) {
        return bad(file, "'" + other + "' and '" + name + "' both have the address " +
                             each.get<std::string>());
      }
    }
  }
  std::string self;
  for (const Address& each : own) {
    const auto found = plan.names_.find(each.host);
    if (found != plan.names_.end()) self = found->second;
  }
  if (self.empty()) return bad(file, "no host of it has an address of this host");
  const auto flows = document.find("flows");
  if (flows == document.end() || !flows->is_array()) return bad(file, "it has no list 'flows'");
  for (const json& flow : *flows) {
    if (!flow.is_object() || text_at(flow, "from") != self) continue;
    const std::string wrong = read_routes(flow, plan.routes_[text_at(flow, "to")]);
    if (!wrong.empty()) return bad(file, "it has " + wrong);
  }
  return plan;
}

const std::vector<PlannedRoute>* RoutePlan::find(const Address& peer) const {
  const auto name = names_.find(peer.host);
  if (name == names_.end()) return nullptr;
  const auto found = routes_.find(name->second);
  return found == routes_.end() || found->second.empty() ? nullptr : &found->second;
}

// Routers without a name in the plan, or that did not answer, have an empty one.
std::vector<std::string> RoutePlan::switches_of(const transport::FabricRoutes& found,
                                                uint16_t path) const {
  std::vector<std::string> switches;
  for (uint8_t hop = 1; hop <= found.hops; ++hop) {
    const auto name = names_.find(found.router(path, hop));
    switches.push_back(name == names_.end() ? "" : name->second);
  }
  // Probes that reached the peer have no router.
  while (!switches.empty() && switches.back().empty()) switches.pop_back();
  return switches;
}

FittedPlan RoutePlan::fit(const std::vector<PlannedRoute>& routes,
                          const transport::FabricRoutes& found, uint16_t paths) const {
  std::vector<TakenRoute> taken;
  for (const PlannedRoute& route : routes) taken.push_back({route.share_per_million, {}});
  for (uint16_t path = 0; path < paths && path < found.route_of.size(); ++path) {
    const std::vector<std::string> switches = switches_of(found, path);
    for (size_t i = 0; i < routes.size(); ++i) {
      if (routes[i].via == switches) taken[i].paths.push_back(path);
    }
  }
  FittedPlan fitted;
  for (size_t i = 0; i < routes.size(); ++i) {
    if (!taken[i].paths.empty()) {
      ++fitted.routes;
    } else if (fitted.missing.empty()) {
      for (const std::string& name : routes[i].via) {
        fitted.missing += (fitted.missing.empty() ? "" : " ") + name;
      }
    }
  }
  fitted.shares = shares_of_paths(taken);
  return fitted;
}

bool is_part_of(const transport::FabricRoutes& found, const transport::FabricRoutes& earlier) {
  if (found.route_of.size() != earlier.route_of.size() || found.hops > earlier.hops) return false;
  for (uint16_t path = 0; path < found.route_of.size(); ++path) {
    for (uint8_t hop = 1; hop <= found.hops; ++hop) {
      const transport::RouterAddress& router = found.router(path, hop);
      const bool silent = router == transport::RouterAddress{};
      if (!silent && router != earlier.router(path, hop)) return false;
    }
  }
  return true;
}

std::vector<transport::PlannedShare> shares_of_paths(std::span<const TakenRoute> routes) {
  std::vector<transport::PlannedShare> shares;
  uint32_t covered = 0;
  for (const TakenRoute& route : routes) {
    if (route.paths.empty()) continue;
    covered += route.share_per_million;
    const uint32_t each = route.share_per_million / static_cast<uint32_t>(route.paths.size());
    for (const uint16_t path : route.paths) shares.push_back({path, std::max(each, 1U)});
  }
  if (covered + params::kMostMissing < kWhole) return {};
  std::sort(shares.begin(), shares.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return shares;
}

}  // namespace heddle::engine
