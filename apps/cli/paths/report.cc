// Report: see report.h.
#include "apps/cli/paths/report.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/quantity.h"
#include "base/version.h"

namespace heddle::cli {
namespace {

using events::RoutesVerdict;

constexpr uint32_t kMostPaths = 256;
constexpr const char* kSilent = "*";

// The smallest number of paths that shows one route more than were seen; 0: above the limit.
uint32_t paths_to_ask(uint32_t routes) {
  uint32_t paths = 8;
  while (paths <= kMostPaths && !transport::are_enough(paths, routes)) paths *= 2;
  return paths <= kMostPaths ? paths : 0;
}

std::string silent_text(const measure::FoundRoutes& found) {
  const measure::FoundRoute& route =
      *std::find_if(found.routes.begin(), found.routes.end(),
                    [](const measure::FoundRoute& each) { return each.routers.back().empty(); });
  const std::string behind =
      route.routers.size() < 2
          ? ""
          : fmt::format(", behind {}", route.routers[route.routers.size() - 2]);
  const std::string who =
      found.silent_paths == found.paths
          ? fmt::format("no router answers at hop {}{}", found.hops, behind)
          : fmt::format("at hop {}{} the router on {} of {} paths does not answer", found.hops,
                        behind, found.silent_paths, found.paths);
  return fmt::format(
      "The number of routes to {} is not known: {}.\nLet routers send ICMP \"time "
      "exceeded\" and let it through to this host; if they limit its rate, try again, or with "
      "fewer --paths.\n",
      found.peer, who);
}

std::string few_text(const measure::FoundRoutes& found) {
  std::string todo = "heddle does not support enough paths for this number of routes";
  if (const uint32_t paths = paths_to_ask(static_cast<uint32_t>(found.routes.size())); paths > 0) {
    todo = fmt::format("try --paths {}", paths);
  }
  if (found.paths < found.paths_asked) {
    todo = fmt::format("start the other side with --set paths={}", found.paths_asked);
  }
  return fmt::format(
      "There are {} or more to {}: {} are too few to be sure that none was missed; {}.\n",
      counted_text(found.routes.size(), "route"), found.peer, counted_text(found.paths, "path"),
      todo);
}

std::string verdict_text(const measure::FoundRoutes& found) {
  switch (found.verdict) {
    case RoutesVerdict::kKnown:
      return fmt::format("{} to {}, with {} on each.\n", counted_text(found.routes.size(), "route"),
                         found.peer, counted_text(found.hops, "router"));
    case RoutesVerdict::kFewPaths:
      return few_text(found);
    case RoutesVerdict::kTooFar:
      return fmt::format(
          "The number of routes to {} is not known: a route has more than {} routers.\n",
          found.peer, found.hops);
    case RoutesVerdict::kSilentRouter:
      break;
  }
  return silent_text(found);
}

std::string routers_text(const measure::FoundRoute& route) {
  std::string text;
  for (const std::string& router : route.routers) {
    text += (text.empty() ? "" : "  ") + (router.empty() ? std::string(kSilent) : router);
  }
  return text.empty() ? "none" : text;
}

std::string paths_text(const measure::FoundRoute& route, uint16_t measure::RoutePath::*field) {
  std::string text;
  for (const measure::RoutePath& path : route.paths) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", path.*field);
  }
  return text;
}

}  // namespace

std::string routes_text(const measure::FoundRoutes& found) {
  std::string text = verdict_text(found);
  if (found.paths < found.paths_asked) {
    text += fmt::format("The other side takes {} at most; {} were asked for.\n",
                        counted_text(found.paths, "path"), found.paths_asked);
  }
  size_t width = std::string_view("routers, hop by hop").size();
  for (const measure::FoundRoute& route : found.routes)
    width = std::max(width, routers_text(route).size());
  text += fmt::format("\n{:<5} {:<{}}  {:>10}  {:<8} {}\n", "route", "routers, hop by hop", width,
                      "round trip", "paths", "their source ports");
  for (size_t i = 0; i < found.routes.size(); ++i) {
    const measure::FoundRoute& route = found.routes[i];
    text += fmt::format("{:<5} {:<{}}  {:>10}  {:<8} {}\n", i + 1, routers_text(route), width,
                        route.works ? duration_text(route.round_trip_median) : "LOST",
                        route.paths.size(), paths_text(route, &measure::RoutePath::source_port));
  }
  return text;
}

Json routes_document(const measure::FoundRoutes& found) {
  Json routes = Json::array();
  for (size_t i = 0; i < found.routes.size(); ++i) {
    const measure::FoundRoute& route = found.routes[i];
    Json routers = Json::array();
    for (const std::string& router : route.routers) {
      routers.push_back(router.empty() ? Json() : Json(router));
    }
    Json paths = Json::array();
    for (const measure::RoutePath& path : route.paths) {
      paths.push_back({{"path", path.path}, {"nic", path.nic}, {"source_port", path.source_port}});
    }
    Json row = {{"route", i + 1}, {"routers", routers}, {"paths", paths}, {"works", route.works}};
    if (route.works) {
      row["round_trip_us_min"] = to_micros(route.round_trip_min);
      row["round_trip_us_median"] = to_micros(route.round_trip_median);
    }
    routes.push_back(std::move(row));
  }
  const bool known = found.verdict == RoutesVerdict::kKnown;
  Json document = {{"heddle", std::string(kVersion)},
                   {"peer", found.peer},
                   {"paths", found.paths},
                   {"paths_asked", found.paths_asked},
                   {"verdict", std::string(name_of(found.verdict))},
                   {"routes", known ? Json(found.routes.size()) : Json()},
                   {"hops", found.hops}};
  if (found.verdict == RoutesVerdict::kSilentRouter) {
    document["silent_hop"] = found.hops;
    document["silent_paths"] = found.silent_paths;
  }
  document["seen"] = std::move(routes);
  return document;
}

bool all_well(const measure::FoundRoutes& found) {
  return found.verdict == RoutesVerdict::kKnown &&
         std::all_of(found.routes.begin(), found.routes.end(),
                     [](const measure::FoundRoute& route) { return route.works; });
}

}  // namespace heddle::cli
