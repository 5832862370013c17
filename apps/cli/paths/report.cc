// Report: see report.h.
#include "apps/cli/paths/report.h"

#include <fmt/core.h>

#include <algorithm>

#include "apps/cli/quantity.h"
#include "base/version.h"

namespace heddle::cli {
namespace {

using events::WaysVerdict;

constexpr uint32_t kMostPaths = 256;
constexpr const char* kSilent = "*";

// The fewest paths that are enough for a way more than were seen; 0: no number is.
uint32_t paths_to_ask(uint32_t ways) {
  uint32_t paths = 8;
  while (paths <= kMostPaths && !transport::are_enough(paths, ways)) paths *= 2;
  return paths <= kMostPaths ? paths : 0;
}

std::string silent_text(const FoundWays& found) {
  const FoundWay& way =
      *std::find_if(found.ways.begin(), found.ways.end(),
                    [](const FoundWay& each) { return each.routers.back().empty(); });
  const std::string behind =
      way.routers.size() < 2 ? "" : fmt::format(", behind {}", way.routers[way.routers.size() - 2]);
  const std::string who =
      found.silent_paths == found.paths
          ? fmt::format("no router answers at hop {}{}", found.hops, behind)
          : fmt::format("at hop {}{} the router on {} of {} paths does not answer", found.hops,
                        behind, found.silent_paths, found.paths);
  return fmt::format(
      "It is not known how many ways there are to {}: {}.\nLet routers send ICMP \"time "
      "exceeded\" and let it through to this host; if they limit its rate, try again, or with "
      "fewer --paths.\n",
      found.peer, who);
}

std::string few_text(const FoundWays& found) {
  std::string todo = "no number of paths that heddle takes is enough for so many";
  if (const uint32_t paths = paths_to_ask(static_cast<uint32_t>(found.ways.size())); paths > 0) {
    todo = fmt::format("try --paths {}", paths);
  }
  if (found.paths < found.paths_asked) {
    todo = fmt::format("start the other side with --set paths={}", found.paths_asked);
  }
  return fmt::format(
      "There are {} or more to {}: {} are too few to be sure that none was missed; {}.\n",
      counted_text(found.ways.size(), "way"), found.peer, counted_text(found.paths, "path"), todo);
}

std::string verdict_text(const FoundWays& found) {
  switch (found.verdict) {
    case WaysVerdict::kKnown:
      return fmt::format("{} to {}, with {} on each.\n", counted_text(found.ways.size(), "way"),
                         found.peer, counted_text(found.hops, "router"));
    case WaysVerdict::kFewPaths:
      return few_text(found);
    case WaysVerdict::kTooFar:
      return fmt::format(
          "It is not known how many ways there are to {}: more than {} routers are on the way.\n",
          found.peer, found.hops);
    case WaysVerdict::kSilentRouter:
      break;
  }
  return silent_text(found);
}

std::string routers_text(const FoundWay& way) {
  std::string text;
  for (const std::string& router : way.routers) {
    text += (text.empty() ? "" : "  ") + (router.empty() ? std::string(kSilent) : router);
  }
  return text.empty() ? "none" : text;
}

std::string paths_text(const FoundWay& way, uint16_t WayPath::*field) {
  std::string text;
  for (const WayPath& path : way.paths) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", path.*field);
  }
  return text;
}

}  // namespace

std::string ways_text(const FoundWays& found) {
  std::string text = verdict_text(found);
  if (found.paths < found.paths_asked) {
    text += fmt::format("The other side takes {} at most; {} were asked for.\n",
                        counted_text(found.paths, "path"), found.paths_asked);
  }
  size_t width = std::string_view("routers, hop by hop").size();
  for (const FoundWay& way : found.ways) width = std::max(width, routers_text(way).size());
  text += fmt::format("\n{:<4} {:<{}}  {:>10}  {:<8} {}\n", "way", "routers, hop by hop", width,
                      "round trip", "paths", "their source ports");
  for (size_t i = 0; i < found.ways.size(); ++i) {
    const FoundWay& way = found.ways[i];
    text += fmt::format("{:<4} {:<{}}  {:>10}  {:<8} {}\n", i + 1, routers_text(way), width,
                        way.works ? duration_text(way.round_trip_median) : "LOST", way.paths.size(),
                        paths_text(way, &WayPath::source_port));
  }
  return text;
}

Json ways_document(const FoundWays& found) {
  Json ways = Json::array();
  for (size_t i = 0; i < found.ways.size(); ++i) {
    const FoundWay& way = found.ways[i];
    Json routers = Json::array();
    for (const std::string& router : way.routers) {
      routers.push_back(router.empty() ? Json() : Json(router));
    }
    Json paths = Json::array();
    for (const WayPath& path : way.paths) {
      paths.push_back({{"path", path.path}, {"nic", path.nic}, {"source_port", path.source_port}});
    }
    Json row = {{"way", i + 1}, {"routers", routers}, {"paths", paths}, {"works", way.works}};
    if (way.works) {
      row["round_trip_us_min"] = to_micros(way.round_trip_min);
      row["round_trip_us_median"] = to_micros(way.round_trip_median);
    }
    ways.push_back(std::move(row));
  }
  const bool known = found.verdict == WaysVerdict::kKnown;
  Json document = {{"heddle", std::string(kVersion)},
                   {"peer", found.peer},
                   {"paths", found.paths},
                   {"paths_asked", found.paths_asked},
                   {"verdict", std::string(name_of(found.verdict))},
                   {"ways", known ? Json(found.ways.size()) : Json()},
                   {"hops", found.hops}};
  if (found.verdict == WaysVerdict::kSilentRouter) {
    document["silent_hop"] = found.hops;
    document["silent_paths"] = found.silent_paths;
  }
  document["seen"] = std::move(ways);
  return document;
}

bool all_well(const FoundWays& found) {
  return found.verdict == WaysVerdict::kKnown &&
         std::all_of(found.ways.begin(), found.ways.end(),
                     [](const FoundWay& way) { return way.works; });
}

}  // namespace heddle::cli
