// Rule: paths that fail together. Where the fabric has several routes, a link that is down, or
// comes and goes, costs a job little time and is seen in no transfer: the transport declares the
// paths over it failed and takes others. Outages that begin together have one cause: the routers
// that their paths have in common and working paths do not have, else a NIC, else the link between
// two ranks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "insight/diagnosis/params.h"
#include "insight/diagnosis/rules.h"

namespace heddle::insight {
namespace {

using Link = std::pair<uint32_t, uint32_t>;  // processes: this side, and the peer

struct PathOutage {
  const ConnectionFacts* connection = nullptr;
  Link link;
  Outage outage;
};

// Outages that began together.
struct Incident {
  std::vector<PathOutage> outages;
  int64_t began = 0;
  int64_t ended = 0;  // the last one; kNever: one lasts
};

// Of connections whose peer still answered: else the ranks' end is the fault. A path that works
// again at once was only late.
std::vector<PathOutage> outages_of(const JobFacts& facts) {
  std::vector<PathOutage> all;
  for (uint32_t process = 0; process < facts.processes().size(); ++process) {
    for (const auto& [id, connection] : facts.processes()[process].connections) {
      if (connection.peer_died) continue;
      const uint32_t peer = facts.process_of(connection.communicator, connection.peer);
      if (peer == kNobody) continue;
      for (const Outage& outage : connection.paths.ended()) {
        if (outage.to - outage.from < params::kLeastDownNs) continue;
        all.push_back({&connection, {process, peer}, outage});
      }
      for (const Outage& outage : connection.paths.lasting()) {
        all.push_back({&connection, {process, peer}, outage});
      }
    }
  }
  std::sort(all.begin(), all.end(),
            [](const PathOutage& a, const PathOutage& b) { return a.outage.from < b.outage.from; });
  return all;
}

void add_to(Incident& incident, PathOutage outage) {
  const int64_t to = outage.outage.to;
  if (incident.outages.empty()) {
    incident.began = outage.outage.from;
    incident.ended = to;
  } else if (incident.ended != kNever) {
    incident.ended = to == kNever ? kNever : std::max(incident.ended, to);
  }
  incident.outages.push_back(std::move(outage));
}

// A path that fails again belongs to the next one.
std::vector<Incident> incidents_of(std::vector<PathOutage> outages) {
  std::vector<Incident> incidents;
  std::set<std::pair<const ConnectionFacts*, uint16_t>> in_this;
  int64_t latest = 0;
  for (PathOutage& each : outages) {
    const int64_t from = each.outage.from;
    const std::pair<const ConnectionFacts*, uint16_t> path(each.connection, each.outage.path);
    if (incidents.empty() || from - latest > params::kTogetherNs || in_this.contains(path)) {
      incidents.emplace_back();
      in_this.clear();
    }
    latest = from;
    in_this.insert(path);
    add_to(incidents.back(), std::move(each));
  }
  // A path alone may be slow by chance.
  std::erase_if(incidents, [](const Incident& incident) {
    return incident.outages.size() < params::kLeastFailedPaths;
  });
  return incidents;
}

bool passes(const Route& route, const Router& router) {
  return std::find(route.begin(), route.end(), router) != route.end();
}

// Routers that nearly all these routes pass, in the order of the first that does.
std::vector<Router> common_routers(const std::vector<const Route*>& routes) {
  std::vector<Router> common;
  for (const auto* const each : routes) {
    for (const Router& router : *each) {
      if (router == Router{} || passes(common, router)) continue;  // it did not answer; known
      const auto passing = static_cast<double>(
          std::count_if(routes.begin(), routes.end(),
                        [&router](const auto* route) { return passes(*route, router); }));
      if (passing >= params::kLeastOnRoute * static_cast<double>(routes.size())) {
        common.push_back(router);
      }
    }
  }
  return common;
}

// Routers that nearly all failed paths pass and many others of the same connections do not; empty:
// none, or the routes are not known.
std::vector<Router> routers_behind(const Incident& incident) {
  std::vector<const Route*> failed;
  std::set<const ConnectionFacts*> connections;
  for (const PathOutage& each : incident.outages) {
    if (each.outage.route.empty()) return {};
    failed.push_back(&each.outage.route);
    connections.insert(each.connection);
  }
  std::vector<Router> routers = common_routers(failed);
  std::erase_if(routers, [&](const Router& router) {
    size_t all = 0;
    size_t others = 0;
    for (const ConnectionFacts* const connection : connections) {
      for (const auto& [path, route] : connection->paths.routes()) {
        ++all;
        others += passes(route, router) ? 0 : 1;
      }
    }
    return static_cast<double>(others) < params::kLeastOtherPaths * static_cast<double>(all);
  });
  return routers;
}

Place place_of(const JobFacts& facts, const Incident& incident) {
  const std::vector<Router> routers = routers_behind(incident);
  if (!routers.empty()) {
    std::vector<std::string> names;
    for (const Router& each : routers) names.push_back(host_text(each.high, each.low));
    return {PlaceKind::kRoute, {}, fmt::format("{}", fmt::join(names, ", "))};
  }
  std::vector<Link> links;
  for (const PathOutage& each : incident.outages) {
    const Link link = std::minmax(each.link.first, each.link.second);
    if (std::find(links.begin(), links.end(), link) == links.end()) links.push_back(link);
  }
  if (links.size() == 1) return {PlaceKind::kLink, {links[0].first, links[0].second}, ""};
  Place place = place_of_links(facts, links);
  if (place.kind == PlaceKind::kLink) {  // no host is at all of them: the fabric between
    std::set<uint32_t> ends;
    for (const Link& link : links) ends.insert({link.first, link.second});
    return {PlaceKind::kGroup, {ends.begin(), ends.end()}, ""};
  }
  // A path fails in both directions, whichever of them its link has lost.
  if (place.kind == PlaceKind::kSenderNic || place.kind == PlaceKind::kReceiverNic) {
    place.kind = PlaceKind::kNic;
  }
  return place;
}

// What failed at one place, again and again.
struct History {
  Place place;
  std::vector<const Incident*> incidents;  // in order of time
};

// Whether no message at all of most connections completed until a path of it worked again. Where a
// link is crowded, paths are declared failed that are late, and others of the same connections
// work.
bool is_silent(const Incident& incident) {
  struct Course {
    int64_t others_worked = INT64_MAX;
    int64_t returned = INT64_MAX;
  };
  std::map<const ConnectionFacts*, Course> courses;
  for (const PathOutage& each : incident.outages) {
    Course& course = courses[each.connection];
    const Outage& outage = each.outage;
    if (outage.others_worked != kNever) {
      course.others_worked = std::min(course.others_worked, outage.others_worked);
    }
    if (outage.to != kNever) course.returned = std::min(course.returned, outage.to);
  }
  const auto silent = std::count_if(courses.begin(), courses.end(), [](const auto& each) {
    return each.second.others_worked >= each.second.returned;
  });
  return 2 * static_cast<size_t>(silent) >= courses.size();
}

std::vector<History> histories_of(const JobFacts& facts, const std::vector<Incident>& incidents) {
  std::vector<History> histories;
  for (const Incident& incident : incidents) {
    const Place place = place_of(facts, incident);
    if (place.kind != PlaceKind::kRoute && !is_silent(incident)) continue;
    const auto known = std::find_if(histories.begin(), histories.end(),
                                    [&](const History& each) { return each.place == place; });
    if (known == histories.end()) {
      histories.push_back({place, {&incident}});
    } else {
      known->incidents.push_back(&incident);
    }
  }
  return histories;
}

std::string incident_text(const Incident& incident) {
  const std::string what =
      fmt::format("at {} {} path{}", seconds_text(incident.began), incident.outages.size(),
                  incident.outages.size() == 1 ? "" : "s");
  if (incident.ended == kNever) return what + ", which did not work again";
  return what + " for " + seconds_text(incident.ended - incident.began);
}

std::string advice_for(const Place& place, const char* what) {
  if (place.kind == PlaceKind::kGroup) {
    return fmt::format(
        "look for a link between switches that {} (the switches' logs, port counters); a job with "
        "the setting discovery = auto names its routers",
        what);
  }
  if (place.kind == PlaceKind::kRoute) {
    return fmt::format(
        "find the link of these routers that {} (port counters, optics, the switches' logs) and "
        "take it out of service until it is mended: programs that keep to one path are on it",
        what);
  }
  return fmt::format(
      "look for a NIC, cable or switch port that {} (dmesg, ethtool, the switch's "
      "log)",
      what);
}

// The end of its last outage if that is long ago, measured by the pauses between them; -1: it
// lasts.
int64_t over_since(const History& history, int64_t until_ns) {
  const int64_t last = history.incidents.back()->ended;
  if (last == kNever) return -1;
  int64_t longest = params::kLeastCalmNs;
  for (size_t i = 1; i < history.incidents.size(); ++i) {
    const int64_t pause = history.incidents[i]->began - history.incidents[i - 1]->began;
    longest = std::max(longest, params::kCalmPauses * pause);
  }
  return until_ns - last > longest ? last : -1;
}

std::optional<Verdict> flapping(const Diagnosis& diagnosis, const History& history) {
  const auto returned = std::count_if(history.incidents.begin(), history.incidents.end(),
                                      [](const Incident* each) { return each->ended != kNever; });
  if (returned < params::kLeastFlaps) return std::nullopt;
  Verdict verdict{.what = VerdictClass::kFlapping, .place = history.place};
  verdict.since_ns = history.incidents.front()->began;
  verdict.until_ns = over_since(history, diagnosis.until_ns);
  const auto times = static_cast<double>(history.incidents.size());
  verdict.confidence = std::min(params::kMostConfidence, 1 - 1 / times);
  const std::string place = history.place.kind == PlaceKind::kGroup
                                ? "fabric between " + place_text(diagnosis, history.place)
                                : place_text(diagnosis, history.place);
  verdict.summary =
      fmt::format("the {} fails and comes back: {} times", place, history.incidents.size());
  constexpr size_t kMostLines = 5;
  for (const Incident* each : history.incidents) {
    if (verdict.evidence.size() == kMostLines) break;
    verdict.evidence.push_back(incident_text(*each));
  }
  verdict.action = advice_for(history.place, "goes down and up");
  return verdict;
}

// Of a route only: a NIC or a pair of ranks whose paths all fail hangs the job.
std::optional<Verdict> failure(const Diagnosis& diagnosis, const History& history) {
  const Incident& last = *history.incidents.back();
  if (history.place.kind != PlaceKind::kRoute || last.ended != kNever ||
      diagnosis.until_ns - last.began < params::kLeastOutageNs) {
    return std::nullopt;
  }
  std::vector<PathOutage> lasting;
  std::copy_if(last.outages.begin(), last.outages.end(), std::back_inserter(lasting),
               [](const PathOutage& each) { return each.outage.to == kNever; });
  if (lasting.size() < params::kLeastFailedPaths) return std::nullopt;
  Verdict verdict{.what = VerdictClass::kPathFailure, .place = history.place};
  verdict.since_ns = last.began;
  verdict.confidence =
      std::min(params::kMostConfidence, 1 - 1 / static_cast<double>(1 + lasting.size()));
  verdict.summary = fmt::format("the {} does not work; the job goes on by others",
                                place_text(diagnosis, history.place));
  verdict.evidence.push_back(fmt::format(
      "{} paths that pass it failed from {} on and do not work again; paths that do not "
      "pass it work",
      lasting.size(), seconds_text(last.began)));
  verdict.action = advice_for(history.place, "is down");
  return verdict;
}

}  // namespace

void find_path_faults(const JobFacts& facts, Diagnosis& diagnosis) {
  // Where a link is slow, messages on it are late enough for paths to be declared failed.
  const bool late =
      std::any_of(diagnosis.verdicts.begin(), diagnosis.verdicts.end(), [](const Verdict& each) {
        return each.place.kind != PlaceKind::kRank && each.what != VerdictClass::kMismatch;
      });
  const std::vector<Incident> incidents = incidents_of(outages_of(facts));
  for (const History& history : histories_of(facts, incidents)) {
    std::optional<Verdict> verdict = flapping(diagnosis, history);
    if (!verdict) verdict = failure(diagnosis, history);
    if (verdict && (!late || verdict->place.kind == PlaceKind::kRoute)) {
      diagnosis.verdicts.push_back(std::move(*verdict));
    }
  }
}

}  // namespace heddle::insight
