// Rule: paths that fail together. Where the fabric has several routes, a link that is down, or
// comes and goes, costs a job little time and is seen in no transfer: the transport declares the
// paths over it failed and takes others. Outages that begin together have one cause: the routers
// that their paths have in common and working paths do not have, else a NIC, else the link between
// two ranks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
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
  int64_t ended = 0;  // the last one that has

  // Outages of paths that did not work again.
  size_t lasting() const {
    return static_cast<size_t>(
        std::count_if(outages.begin(), outages.end(),
                      [](const PathOutage& each) { return !each.outage.returned; }));
  }
  bool returned() const { return 2 * lasting() < outages.size(); }
};

// Of connections whose peer still answered: else the ranks' end is the fault. A path that works
// again at once was only late.
std::vector<PathOutage> outages_of(const JobFacts& facts) {
  std::vector<PathOutage> all;
  for (const auto& [process, id] : facts.troubled()) {
    const ConnectionFacts& connection = facts.connection(process, id);
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
  const auto key = [](const PathOutage& each) {
    return std::tuple(each.outage.from, each.link, each.outage.path, each.outage.to);
  };
  std::sort(all.begin(), all.end(),
            [key](const PathOutage& a, const PathOutage& b) { return key(a) < key(b); });
  return all;
}

// A path that fails again belongs to the next one.
std::vector<Incident> incidents_of(std::vector<PathOutage> outages) {
  std::vector<Incident> incidents;
  std::set<std::pair<const ConnectionFacts*, uint16_t>> in_this;
  for (PathOutage& each : outages) {
    const int64_t from = each.outage.from;
    const std::pair<const ConnectionFacts*, uint16_t> path(each.connection, each.outage.path);
    if (incidents.empty() || from - incidents.back().began > params::kTogetherNs ||
        in_this.contains(path)) {
      incidents.push_back({.outages = {}, .began = from});
      in_this.clear();
    }
    in_this.insert(path);
    incidents.back().ended = std::max(incidents.back().ended, each.outage.to);
    incidents.back().outages.push_back(std::move(each));
  }
  // A path alone may be slow by chance.
  std::erase_if(incidents, [](const Incident& incident) {
    return incident.outages.size() < params::kLeastFailedPaths;
  });
  return incidents;
}

bool is_known(const Route& route) {
  return !route.empty() && std::find(route.begin(), route.end(), Router{}) == route.end();
}

// How many of a number of routes pass each router.
class Passing {
 public:
  void add(const Route& route) {
    ++routes_;
    for (const Router& each : std::set<Router>(route.begin(), route.end())) ++counts_[each];
  }
  double share(const Router& router) const {
    const auto found = counts_.find(router);
    return found == counts_.end()
               ? 0
               : static_cast<double>(found->second) / static_cast<double>(routes_);
  }
  const std::map<Router, size_t>& counts() const { return counts_; }

 private:
  size_t routes_ = 0;
  std::map<Router, size_t> counts_;
};

// Routers that nearly all failed paths pass and many others of the same connections do not, in
// order; empty: none, or the routes are not known. Paths are compared with those that begin at the
// same router: a router may have another address on each of its ports.
std::vector<Router> routers_behind(const Incident& incident) {
  std::map<Router, Passing> failed;  // by first router
  std::map<Router, Passing> all;
  std::set<const ConnectionFacts*> connections;
  for (const PathOutage& each : incident.outages) {
    const Route& route = each.outage.route;
    if (!is_known(route)) return {};
    failed[route.front()].add(route);
    connections.insert(each.connection);
  }
  for (const ConnectionFacts* const connection : connections) {
    for (const auto& [path, route] : connection->paths.routes()) {
      if (is_known(route)) all[route.front()].add(route);
    }
  }
  std::vector<Router> routers;
  for (const auto& [first, passing] : failed) {
    const size_t before = routers.size();
    for (const auto& [router, count] : passing.counts()) {
      if (router == Router{} || passing.share(router) < params::kLeastOnRoute) continue;
      if (all[first].share(router) <= 1 - params::kLeastOtherPaths) routers.push_back(router);
    }
    if (routers.size() == before) return {};  // these paths have nothing in common
  }
  std::sort(routers.begin(), routers.end());
  routers.erase(std::unique(routers.begin(), routers.end()), routers.end());
  return routers;
}

// Without routes: where the failed paths meet.
Place meeting_place(const JobFacts& facts, const Incident& incident) {
  std::set<Link> all;
  for (const PathOutage& each : incident.outages) {
    all.insert(std::minmax(each.link.first, each.link.second));
  }
  const std::vector<Link> links(all.begin(), all.end());
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
    if (!each.connection->paths.knows_messages()) return false;
    Course& course = courses[each.connection];
    const Outage& outage = each.outage;
    if (outage.others_worked != kNever) {
      course.others_worked = std::min(course.others_worked, outage.others_worked);
    }
    if (outage.returned) course.returned = std::min(course.returned, outage.to);
  }
  const auto silent = std::count_if(courses.begin(), courses.end(), [](const auto& each) {
    return each.second.others_worked >= each.second.returned;
  });
  return 2 * static_cast<size_t>(silent) >= courses.size();
}

// Whether the processes at the place found failed paths, too. One that stands still sends nothing
// and finds nothing: its peers alone do.
bool is_found_at(const JobFacts& facts, const Place& place, const Incident& incident) {
  std::set<uint32_t> finders;
  for (const PathOutage& each : incident.outages) finders.insert(each.link.first);
  if (place.kind == PlaceKind::kNic) {
    return std::any_of(finders.begin(), finders.end(), [&](uint32_t process) {
      return facts.processes()[process].party.host == place.host;
    });
  }
  const auto found =
      std::count_if(place.processes.begin(), place.processes.end(),
                    [&finders](uint32_t process) { return finders.contains(process); });
  const auto all = static_cast<std::ptrdiff_t>(place.processes.size());
  return place.kind == PlaceKind::kLink ? found == all : 2 * found >= all;
}

// What failed at one place.
struct History {
  std::vector<Router> routers;  // of a route
  Place place;
  std::vector<const Incident*> incidents;  // in order of time
};

bool meet(const std::vector<Router>& a, const std::vector<Router>& b) {
  return std::any_of(a.begin(), a.end(), [&b](const Router& each) {
    return std::binary_search(b.begin(), b.end(), each);
  });
}

std::vector<History> histories_of(const JobFacts& facts, const std::vector<Incident>& incidents) {
  std::vector<History> histories;
  for (const Incident& incident : incidents) {
    const std::vector<Router> routers = routers_behind(incident);
    Place place{PlaceKind::kRoute, {}, ""};
    if (routers.empty()) {
      if (!is_silent(incident)) continue;
      place = meeting_place(facts, incident);
      if (!is_found_at(facts, place, incident)) continue;
    }
    const auto known = std::find_if(histories.begin(), histories.end(), [&](const History& each) {
      return routers.empty() ? each.place == place : meet(each.routers, routers);
    });
    if (known == histories.end()) {
      histories.push_back({routers, place, {&incident}});
      continue;
    }
    known->incidents.push_back(&incident);
    std::vector<Router> common;
    std::set_intersection(known->routers.begin(), known->routers.end(), routers.begin(),
                          routers.end(), std::back_inserter(common));
    known->routers = std::move(common);
  }
  for (History& each : histories) {
    if (each.place.kind != PlaceKind::kRoute) continue;
    std::vector<std::string> names;
    for (const Router& router : each.routers) names.push_back(host_text(router.high, router.low));
    each.place.host = fmt::format("{}", fmt::join(names, ", "));
  }
  return histories;
}

// The latest incidents that follow each other closely enough to be one fault, if they are enough.
std::vector<const Incident*> latest_flaps(const History& history) {
  std::vector<const Incident*> flaps;
  std::vector<const Incident*> best;
  for (const Incident* const each : history.incidents) {
    if (!each->returned()) continue;
    if (!flaps.empty() && each->began - flaps.back()->began > params::kMostPauseNs) flaps.clear();
    flaps.push_back(each);
    if (flaps.size() >= params::kLeastFlaps) best = flaps;
  }
  return best;
}

std::string incident_text(const Incident& incident) {
  return fmt::format("at {} {} paths for {}", seconds_text(incident.began), incident.outages.size(),
                     seconds_text(incident.ended - incident.began));
}

std::string advice_for(const Place& place, const char* what) {
  if (place.kind == PlaceKind::kGroup) {
    return fmt::format(
        "look for a link between switches that {} (the switches' logs, port counters); where "
        "switches answer traceroutes, a job with the setting discovery = auto names them",
        what);
  }
  if (place.kind == PlaceKind::kRoute) {
    return fmt::format(
        "find the link of these routers that {} (port counters, optics, the switches' logs) and "
        "take it out of service until it is mended: programs that keep to one path are on it",
        what);
  }
  return fmt::format(
      "look for a NIC, cable or switch port that {} (dmesg, ethtool, the switch's log)", what);
}

std::string name_in_summary(const Diagnosis& diagnosis, const Place& place) {
  const std::string text = place_text(diagnosis, place);
  if (place.kind == PlaceKind::kGroup) return "fabric between " + text;
  if (place.kind != PlaceKind::kLink) return text;
  return fmt::format("link between {} and {}", full_name(diagnosis.parties[place.processes[0]]),
                     full_name(diagnosis.parties[place.processes[1]]));
}

// The end of the last of them if that is long ago, measured by the pauses between them; -1: they
// last.
int64_t over_since(const std::vector<const Incident*>& flaps, int64_t until_ns) {
  int64_t longest = params::kLeastCalmNs;
  for (size_t i = 1; i < flaps.size(); ++i) {
    longest = std::max(longest, params::kCalmPauses * (flaps[i]->began - flaps[i - 1]->began));
  }
  return until_ns - flaps.back()->ended > longest ? flaps.back()->ended : -1;
}

std::optional<Verdict> flapping(const Diagnosis& diagnosis, const History& history) {
  const std::vector<const Incident*> flaps = latest_flaps(history);
  if (flaps.empty()) return std::nullopt;
  Verdict verdict{.what = VerdictClass::kFlapping, .place = history.place};
  verdict.since_ns = flaps.front()->began;
  verdict.until_ns = over_since(flaps, diagnosis.until_ns);
  verdict.confidence = std::min(params::kMostConfidence, 1 - 1 / static_cast<double>(flaps.size()));
  verdict.summary = fmt::format("the {} fails and comes back: {} times",
                                name_in_summary(diagnosis, history.place), flaps.size());
  for (const Incident* each : flaps) {
    if (verdict.evidence.size() == params::kMostFlapLines) break;
    verdict.evidence.push_back(incident_text(*each));
  }
  verdict.action = advice_for(history.place, "goes down and up");
  return verdict;
}

// Of a route only: a NIC or a pair of ranks whose paths all fail hangs the job.
std::optional<Verdict> failure(const Diagnosis& diagnosis, const History& history) {
  const Incident& last = *history.incidents.back();
  if (history.place.kind != PlaceKind::kRoute || last.returned()) return std::nullopt;
  int64_t until = 0;  // of the observation: connections may have been closed since
  for (const PathOutage& each : last.outages) {
    if (each.outage.returned) continue;
    until = std::max(until, each.outage.to == kNever ? diagnosis.until_ns : each.outage.to);
  }
  const size_t lasting = last.lasting();
  if (until - last.began < params::kLeastOutageNs || lasting < params::kLeastFailedPaths) {
    return std::nullopt;
  }
  Verdict verdict{.what = VerdictClass::kPathFailure, .place = history.place};
  verdict.since_ns = last.began;
  if (diagnosis.until_ns - until > params::kLeastOutageNs) verdict.until_ns = until;
  verdict.confidence = std::min(params::kMostConfidence, 1 - 1 / static_cast<double>(1 + lasting));
  verdict.summary = fmt::format("the {} does not work; the job goes on by others",
                                place_text(diagnosis, history.place));
  verdict.evidence.push_back(
      fmt::format("{} paths that pass it failed from {} on and did not work again in {}", lasting,
                  seconds_text(last.began), seconds_text(until - last.began)));
  verdict.action = advice_for(history.place, "is down");
  return verdict;
}

}  // namespace

void find_path_faults(const JobFacts& facts, int64_t since_ns, Diagnosis& diagnosis) {
  const std::vector<Incident> incidents = incidents_of(outages_of(facts));
  for (const History& history : histories_of(facts, incidents)) {
    std::optional<Verdict> verdict = flapping(diagnosis, history);
    if (!verdict) verdict = failure(diagnosis, history);
    if (!verdict || (verdict->until_ns >= 0 && verdict->until_ns < since_ns)) continue;
    diagnosis.verdicts.push_back(std::move(*verdict));
  }
}

}  // namespace heddle::insight
