// See shared_hop.h. A hop is a router after another one, or, where a router has another address on
// each of its ports, the second one alone.
#include "insight/diagnosis/shared_hop.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "insight/diagnosis/params.h"
#include "insight/diagnosis/path_outages.h"
#include "insight/party.h"

namespace heddle::insight {
namespace {

using Hop = std::pair<Router, Router>;  // from the first (zero: whichever) to the second
using Hops = std::set<Hop>;

bool is_known(const Route& route) {
  return !route.empty() && std::find(route.begin(), route.end(), Router{}) == route.end();
}

Hops hops_of(const Route& route) {
  Hops hops;
  for (size_t i = 0; i < route.size(); ++i) {
    hops.insert({Router{}, route[i]});
    if (i > 0) hops.insert({route[i - 1], route[i]});
  }
  return hops;
}

const ConnectionFacts* connection_of(const JobFacts& facts, uint64_t communicator,
                                     const Link& link) {
  const uint32_t process = facts.process_of(communicator, link.first);
  if (process == kNobody) return nullptr;
  for (const auto& [id, connection] : facts.processes()[process].connections) {
    const bool same = connection.communicator == communicator && connection.peer == link.second;
    if (same && !connection.paths.routes().empty()) return &connection;
  }
  return nullptr;
}

// That nearly all its paths pass; empty: not known.
Hops common_hops(const ConnectionFacts* connection) {
  Hops common;
  if (connection == nullptr) return common;
  std::map<Hop, size_t> counts;
  size_t routes = 0;
  for (const auto& [path, route] : connection->paths.routes()) {
    if (!is_known(route)) continue;
    ++routes;
    for (const Hop& hop : hops_of(route)) ++counts[hop];
  }
  for (const auto& [hop, count] : counts) {
    const double least = params::kLeastOnRoute * static_cast<double>(routes);
    if (static_cast<double>(count) >= least) common.insert(hop);
  }
  return common;
}

Hops of_all(const std::vector<Hops>& links) {
  Hops shared = links.front();
  for (const Hops& hops : links) {
    std::erase_if(shared, [&hops](const Hop& hop) { return !hops.contains(hop); });
  }
  return shared;
}

// Of pairs of routers where there are some, in the order of a route.
std::string routers_text(const Hops& hops, const Route& route) {
  const bool pairs =
      std::any_of(hops.begin(), hops.end(), [](const Hop& hop) { return hop.first != Router{}; });
  std::set<Router> named;
  for (const Hop& hop : hops) {
    if (pairs && hop.first == Router{}) continue;
    if (pairs) named.insert(hop.first);
    named.insert(hop.second);
  }
  std::vector<std::string> names;
  for (const Router& router : route) {
    if (named.erase(router) > 0) names.push_back(host_text(router.high, router.low));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::optional<SharedHop> shared_hop(const JobFacts& facts,
                                    const std::vector<const LateLinks*>& communicators) {
  std::vector<Hops> late;
  std::map<Hop, size_t> passes;  // of other links
  SharedHop found;
  for (const LateLinks* const links : communicators) {
    for (const Link& link : links->all()) {
      late.push_back(common_hops(connection_of(facts, links->communicator, link)));
    }
    for (const Link& link : links->others) {
      const Hops hops = common_hops(connection_of(facts, links->communicator, link));
      if (!hops.empty()) ++found.known;
      for (const Hop& hop : hops) ++passes[hop];
    }
  }
  if (late.empty()) return std::nullopt;
  Hops shared = of_all(late);
  const double most = (1 - params::kLeastOnRoute) * static_cast<double>(found.known);
  std::erase_if(shared, [&](const Hop& hop) { return static_cast<double>(passes[hop]) > most; });
  if (shared.empty()) return std::nullopt;
  found.late = late.size();
  for (const Hop& hop : shared) found.others = std::max(found.others, passes[hop]);
  const LateLinks& first = *communicators.front();
  const ConnectionFacts* const connection =
      connection_of(facts, first.communicator, first.late.front());
  for (const auto& [path, route] : connection->paths.routes()) {
    if (!is_known(route)) continue;
    found.routers = routers_text(shared, route);
    if (!found.routers.empty()) break;
  }
  return found;
}

}  // namespace heddle::insight
