// Stage reach: checked payload from every host to every host, the MTU of the path, and the routes
// between leaves.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "acceptance/params.h"
#include "acceptance/shared_cause.h"
#include "acceptance/stages/stages.h"
#include "topology/names.h"

namespace heddle::acceptance {
namespace {

struct PairResult {
  HostPair pair;
  bool reached = false;
  std::string complaint;  // if not
  uint64_t wrong_messages = 0;
  uint32_t packet_bytes = 0;
};

class Reach {
 public:
  Reach(Session& session, StageReport& report) : session_(session), report_(report) {}

  Result<void> run() {
    const auto silent = session_.start_servers();
    if (!silent) return fail(silent.error());
    for (const uint32_t host : *silent) {
      add_fail("server", session_.host(host), "does not listen", "listens",
               fmt::format("start `heddle perf --listen` on {} and see what it reports",
                           session_.host(host)));
    }
    if (!silent->empty()) return {};
    if (Result<void> ran = reach_pairs(); !ran) return ran;
    judge_pairs();
    const Grade pairs_grade = grade_of(report_);  // hosts that do not answer have no routes
    for (const HostPair& pair : leaf_pairs()) {
      if (session_.interrupted() || pairs_grade == Grade::kFail) break;
      if (Result<void> ran = find_routes(pair); !ran) return ran;
    }
    if (right_routes_ > 0) {
      report_.rows.push_back({"routes", fmt::format("{} pairs of leaves", right_routes_),
                              fmt::format("{} routes work", fmt::join(right_counts_, ", ")),
                              "as the topology has them"});
    }
    return {};
  }

 private:
  void add_fail(const std::string& check, const std::string& where, const std::string& measured,
                const std::string& expected, const std::string& todo) {
    report_.rows.push_back({check, where, measured, expected, Grade::kFail, todo});
  }

  // Of disjoint pairs.
  Result<std::vector<PairResult>> reach_round(const std::vector<HostPair>& round) {
    std::vector<Commands::Id> ids;
    for (const HostPair& pair : round) {
      const auto id = session_.commands().start(
          session_.host(pair.from),
          {"heddle", "perf", session_.fabric().target(pair.to), "bw", "-t", "100ms", "-s", "16K",
           "--check", "--json", "--set", "handshake_timeout_ms=2500"});
      if (!id) return fail(id.error());
      ids.push_back(*id);
    }
    session_.wait(ids, millis(100));
    std::vector<PairResult> results;
    for (size_t i = 0; i < round.size(); ++i) {
      results.push_back(result_of(round[i], session_.commands().result_of(ids[i])));
    }
    return results;
  }

  static PairResult result_of(const HostPair& pair, const CommandEnd& end) {
    PairResult result{.pair = pair};
    const std::optional<Json> document = document_of(end);
    if (!document || document->value("tests", Json::array()).empty()) {
      result.complaint = complaint_of(end);
      return result;
    }
    const Json& test = document->at("tests").front();
    result.reached = true;
    result.wrong_messages = static_cast<uint64_t>(number_of(test, "wrong_messages"));
    result.packet_bytes = static_cast<uint32_t>(number_of(test, "packet_bytes"));
    return result;
  }

  Result<void> reach_pairs() {
    for (const std::vector<HostPair>& round : session_.rounds(true)) {
      if (session_.interrupted()) return {};
      Result<std::vector<PairResult>> results = reach_round(round);
      if (!results) return fail(std::move(results).error());
      if (session_.interrupted()) return {};  // its commands were ended
      for (PairResult& result : *results) {
        const bool stopped = session_.server_is_stopped(result.pair.to);
        if (!result.reached && !stopped && !session_.interrupted()) {
          Result<std::vector<PairResult>> again = reach_round({result.pair});  // alone
          if (!again) return fail(std::move(again).error());
          result = again->front();
        }
        results_.push_back(std::move(result));
      }
    }
    return {};
  }

  std::vector<HostPair> pairs_where(const std::function<bool(const PairResult&)>& is) const {
    std::vector<HostPair> pairs;
    for (const PairResult& result : results_) {
      if (is(result)) pairs.push_back(result.pair);
    }
    return pairs;
  }

  void judge_pairs() {
    const std::vector<HostPair> all = pairs_where([](const PairResult&) { return true; });
    const std::vector<HostPair> lost =
        pairs_where([](const PairResult& result) { return !result.reached; });
    report_lost(lost, all);
    uint64_t wrong = 0;
    for (const PairResult& result : results_) wrong += result.wrong_messages;
    for (const PairResult& result : results_) {
      if (result.wrong_messages == 0) continue;
      add_fail("payload", session_.pair_name(result.pair),
               fmt::format("{} messages arrived changed", result.wrong_messages), "unchanged",
               "something on the way changes packets and their checksums: replace it, or use keys "
               "(HEDDLE_KEY_FILE)");
    }
    if (lost.size() < all.size() && wrong == 0) {
      report_.rows.push_back({"reach",
                              fmt::format("{} of {} pairs", all.size() - lost.size(), all.size()),
                              "answered, payload unchanged", "all"});
    }
    judge_packets(all);
    add_data();
  }

  void report_lost(const std::vector<HostPair>& lost, const std::vector<HostPair>& all) {
    std::set<uint32_t> named;
    for (const HostPair& pair : lost) {
      if (!session_.server_is_stopped(pair.to) || !named.insert(pair.to).second) continue;
      add_fail("reach", session_.host(pair.to), "its processes are stopped", "they run",
               fmt::format("see what stopped them (SIGSTOP, a frozen cgroup, a debugger) on {}",
                           session_.host(pair.to)));
    }
    if (!named.empty()) return;
    if (const std::optional<uint32_t> host = host_behind(lost, all)) {
      add_fail("reach", session_.host(*host), "no other host reaches it, and it reaches none",
               "every host",
               fmt::format("check {}'s port, address, routes and firewall (UDP port 18700)",
                           session_.host(*host)));
      return;
    }
    for (const PairResult& result : results_) {
      if (result.reached) continue;
      add_fail("reach", session_.pair_name(result.pair), result.complaint, "an answer",
               "check routes and firewalls between the two, in this direction and back");
    }
  }

  uint32_t expected_mtu(const HostPair& pair) const {
    const uint32_t planned = routes_between(session_.topology(), pair).mtu_bytes;
    return session_.expectations().mtu_bytes.value_or(planned);
  }

  void judge_packets(const std::vector<HostPair>& all) {
    const auto is_small = [this](const PairResult& result) {
      return result.reached && result.packet_bytes < expected_mtu(result.pair);
    };
    const std::vector<HostPair> small = pairs_where(is_small);
    const std::string todo =
        "find the port with the smaller MTU on the way: `heddle verify --stage inventory` lists "
        "them";
    if (const std::optional<uint32_t> host = host_behind(small, all)) {
      add_fail("MTU end to end", session_.host(*host), "packets to and from it are smaller",
               fmt::format("{} bytes", expected_mtu(small.front())), todo);
    } else {
      for (const PairResult& result : results_) {
        if (!is_small(result)) continue;
        add_fail("MTU end to end", session_.pair_name(result.pair),
                 fmt::format("{} bytes", result.packet_bytes),
                 fmt::format("{} bytes", expected_mtu(result.pair)), todo);
      }
    }
    std::set<uint32_t> sizes;
    size_t right = 0;
    for (const PairResult& result : results_) {
      if (!result.reached || is_small(result)) continue;
      sizes.insert(result.packet_bytes);
      ++right;
    }
    if (right == 0) return;
    report_.rows.push_back({"MTU end to end", fmt::format("{} of {} pairs", right, all.size()),
                            fmt::format("{} bytes", fmt::join(sizes, ", ")),
                            "as the ports on the way"});
  }

  void add_data() {
    Json pairs = Json::array();
    for (const PairResult& result : results_) {
      pairs.push_back({{"from", session_.host(result.pair.from)},
                       {"to", session_.host(result.pair.to)},
                       {"reached", result.reached},
                       {"complaint", result.complaint},
                       {"packet_bytes", result.packet_bytes}});
    }
    report_.data["pairs"] = std::move(pairs);
    report_.data["routes"] = Json::array();
  }

  // The first host of each leaf to those of the others; quick: to the next leaf and back.
  std::vector<HostPair> leaf_pairs() const {
    std::map<uint32_t, uint32_t> first;  // by leaf
    for (uint32_t i = 0; i < session_.hosts(); ++i)
      first.try_emplace(leaf_of(session_.topology(), i), i);
    std::vector<uint32_t> hosts;
    for (const auto& [leaf, host] : first) {
      if (leaf != UINT32_MAX) hosts.push_back(host);
    }
    std::vector<HostPair> pairs;
    const bool quick = session_.options().depth == Depth::kQuick;
    for (size_t i = 0; i < hosts.size(); ++i) {
      for (size_t j = 0; j < hosts.size(); ++j) {
        const size_t apart = (j + hosts.size() - i) % hosts.size();
        if (i != j && (!quick || apart == 1 || apart + 1 == hosts.size())) {
          pairs.push_back({hosts[i], hosts[j]});
        }
      }
    }
    return pairs;
  }

  std::optional<uint32_t> switch_of(const Json& router) const {
    if (!router.is_string()) return std::nullopt;
    return session_.fabric().switch_at(router.get<std::string>());
  }

  Result<std::optional<Json>> trace(const HostPair& pair) {
    const auto id = session_.commands().start(
        session_.host(pair.from), {"heddle", "paths", session_.fabric().target(pair.to), "--json"});
    if (!id) return fail(id.error());
    session_.wait({*id}, seconds(5));
    return document_of(session_.commands().result_of(*id));
  }

  Result<void> find_routes(const HostPair& pair) {
    const uint64_t planned = routes_between(session_.topology(), pair).routes;
    const uint64_t expected = session_.expectations().routes.value_or(planned);
    std::vector<SeenRoute> routes;
    size_t working = 0;
    for (int tries = 0; tries <= params::kRepeats && !session_.interrupted(); ++tries) {
      Result<std::optional<Json>> document = trace(pair);
      if (!document) return fail(std::move(document).error());
      routes.clear();
      working = 0;
      if (!*document) continue;
      for (const Json& seen : (*document)->value("seen", Json::array())) {
        SeenRoute route{.works = seen.value("works", false)};
        for (const Json& router : seen.at("routers")) route.switches.push_back(switch_of(router));
        working += route.works ? 1 : 0;
        routes.push_back(std::move(route));
      }
      if (working >= expected && working == routes.size()) break;  // else a probe may be lost
    }
    if (session_.interrupted()) return {};
    judge_routes(pair, routes, {working, expected});
    return {};
  }

  void judge_routes(const HostPair& pair, const std::vector<SeenRoute>& routes,
                    std::pair<uint64_t, uint64_t> found_of) {
    const auto [found, expected] = found_of;
    report_.data["routes"].push_back({{"from", session_.host(pair.from)},
                                      {"to", session_.host(pair.to)},
                                      {"routes", found},
                                      {"expected", expected}});
    const std::string measured = fmt::format("{} routes work", found);
    if (found >= expected) {
      ++right_routes_;
      right_counts_.insert(found);
      return;
    }
    const std::vector<LinkUse> lost = links_behind(session_.topology(), pair, routes);
    for (const LinkUse& use : lost) {
      const std::string label = topology::link_label(session_.topology(), use.link);
      if (!lost_links_.insert(label).second) continue;
      add_fail(
          "lost route", label, "packets vanish on it without notice", "they arrive",
          fmt::format("{}: take the link out of the switches' routes and test the cable; found "
                      "on a route of {}",
                      label, session_.pair_name(pair)));
    }
    if (!lost.empty()) return;
    add_fail("routes", session_.pair_name(pair), measured, fmt::format("{}", expected),
             "compare the switches' multipath routes (ECMP) with the plan, and their hash: it must "
             "use the UDP ports");
  }

  Session& session_;
  StageReport& report_;
  std::vector<PairResult> results_;
  std::set<std::string> lost_links_;
  size_t right_routes_ = 0;
  std::set<uint64_t> right_counts_;
};

}  // namespace

Result<void> run_reach(Session& session, StageReport& report) {
  return Reach(session, report).run();
}

}  // namespace heddle::acceptance
