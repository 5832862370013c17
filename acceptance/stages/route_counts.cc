// See route_counts.h.
#include "acceptance/stages/route_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "acceptance/params.h"
#include "acceptance/stages/nic_pairs.h"

namespace heddle::acceptance {
namespace {

constexpr const char* kSilentRouter =
    "a router does not answer with ICMP \"time exceeded\", or a firewall drops its answers";

std::string reason_of(const Json& document) {
  const auto verdict = document.find("verdict");
  if (verdict == document.end()) return "its answer is of another version of heddle";
  if (*verdict == "known") return {};
  if (*verdict == "few_paths") return "there are more than its paths can show";
  if (*verdict == "too_far") return "a route has more routers than are probed";
  return kSilentRouter;
}

class RouteCounts {
 public:
  RouteCounts(Session& session, StageReport& report) : session_(session), report_(report) {}

  Result<void> run() {
    const std::vector<std::vector<HostNic>> nics = nics_of(session_.fabric());
    for (const std::vector<HostPair>& round : ring_rounds(session_.hosts(), false)) {
      if (session_.interrupted()) return {};
      if (Result<void> ran = trace(round, 0); !ran) return ran;
      for (const auto& [device, pairs] : nic_pairs(nics, round)) {
        if (session_.interrupted()) return {};
        std::vector<HostPair> over;
        for (const NicPair& each : pairs) over.push_back(each.pair);
        if (Result<void> ran = trace(over, 0); !ran) return ran;
      }
    }
    if (session_.interrupted()) return {};
    for (const auto& [pair, seen] : seen_) judge(pair, seen);
    add_counts();
    return {};
  }

 private:
  // Again where a route seems lost: a probe may be.
  Result<void> trace(const std::vector<HostPair>& round, int tries) {
    std::vector<Commands::Id> ids;
    for (const HostPair& pair : round) {
      const auto id =
          session_.commands().start(session_.host(pair.from), paths_words(session_, pair));
      if (!id) return fail(id.error());
      ids.push_back(*id);
    }
    session_.wait(ids, seconds(5));
    std::vector<HostPair> again;
    for (size_t i = 0; i < round.size(); ++i) {
      const SeenRoutes seen = seen_routes_in(session_.commands().result_of(ids[i]));
      // A further NIC may be of another network, which the stage reach has said.
      if (seen.routes == 0 && !round[i].over_first_nics()) continue;
      if (seen.lost > 0 && tries < params::kRepeats) {
        again.push_back(round[i]);
      } else {
        seen_.emplace_back(round[i], seen);
      }
    }
    return again.empty() || session_.interrupted() ? Result<void>() : trace(again, tries + 1);
  }

  // "nic1: " of a further NIC.
  std::string prefix(const HostPair& pair) const {
    if (pair.over_first_nics()) return {};
    return session_.fabric().nics(pair.from)[pair.nics.from].device + ": ";
  }

  void judge(const HostPair& pair, const SeenRoutes& seen) {
    const auto expected = session_.expectations().routes;
    const uint64_t working = seen.routes - seen.lost;
    Json data = {{"from", session_.host(pair.from)},
                 {"to", session_.host(pair.to)},
                 {"routes", working},
                 {"expected", expected ? Json(*expected) : Json()}};
    if (!seen.unknown.empty()) data["unknown"] = seen.unknown;
    report_.data["routes"].push_back(std::move(data));
    if (seen.lost > 0) {
      report_.rows.push_back(
          {"lost route", session_.pair_name(pair),
           prefix(pair) + fmt::format("packets vanish on {} of {} routes", seen.lost, seen.routes),
           "they arrive", Grade::kFail,
           fmt::format(
               "`heddle paths` between the two shows its routers: take the link behind "
               "the last one that answers out of the switches' routes and test the cable")});
    } else if (!seen.unknown.empty()) {
      unknown_[prefix(pair) + "not known: " + seen.unknown].push_back(pair);
    } else if (expected && working < *expected) {
      report_.rows.push_back({"routes", session_.pair_name(pair),
                              prefix(pair) + fmt::format("{} routes work", working),
                              fmt::format("{}", *expected), Grade::kFail,
                              "compare the switches' multipath routes (ECMP) with the plan, and "
                              "their hash: it must use the UDP ports"});
    } else {
      counts_[prefix(pair) + fmt::format("{} routes work", working)].push_back(pair);
    }
  }

  // Of all pairs over NICs of the same name.
  std::string where(const std::vector<HostPair>& pairs) const {
    if (pairs.size() == 1) return session_.pair_name(pairs.front());
    const auto alike = std::count_if(seen_.begin(), seen_.end(), [&](const auto& each) {
      return prefix(each.first) == prefix(pairs.front());
    });
    return fmt::format("{} of {} pairs", pairs.size(), alike);
  }

  void add_counts() {
    for (const auto* const found : {&counts_, &unknown_}) {
      for (const auto& [measured, pairs] : *found) {
        report_.rows.push_back({"routes", where(pairs), measured, ""});
      }
    }
  }

  Session& session_;
  StageReport& report_;
  std::vector<std::pair<HostPair, SeenRoutes>> seen_;
  std::map<std::string, std::vector<HostPair>> counts_;   // by what was measured, of all routes
  std::map<std::string, std::vector<HostPair>> unknown_;  // likewise, with the reason
};

}  // namespace

std::vector<std::string> paths_words(const Session& session, const HostPair& pair) {
  std::vector<std::string> words = {"heddle", "paths", session.target(pair), "--json"};
  const std::vector<std::string> bind = session.bind_options(pair);
  words.insert(words.end(), bind.begin(), bind.end());
  return words;
}

SeenRoutes seen_routes_in(const CommandEnd& end) {
  const std::optional<Json> document = document_of(end);
  if (!document) return {.unknown = complaint_of(end)};
  SeenRoutes seen{.unknown = reason_of(*document)};
  const auto routes = document->find("seen");
  if (routes == document->end() || !routes->is_array()) return seen;
  for (const Json& each : *routes) {
    const auto works = each.is_object() ? each.find("works") : each.end();
    if (works == each.end() || !works->is_boolean()) continue;
    ++seen.routes;
    seen.lost += works->get<bool>() ? 0 : 1;
  }
  return seen;
}

Result<void> count_routes(Session& session, StageReport& report) {
  return RouteCounts(session, report).run();
}

}  // namespace heddle::acceptance
