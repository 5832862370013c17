// Stage reach: checked payload from every host to every host, over each of their NICs, the MTU of
// the path, and the routes between leaves.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "acceptance/agent_numbers.h"
#include "acceptance/params.h"
#include "acceptance/shared_cause.h"
#include "acceptance/stages/nic_reach.h"
#include "acceptance/stages/route_counts.h"
#include "acceptance/stages/stages.h"

namespace heddle::acceptance {
namespace {

struct PairResult {
  HostPair pair;
  bool reached = false;
  std::string complaint;  // if not
  uint64_t wrong_messages = 0;
  uint32_t packet_bytes = 0;
};

// Of what a server writes where another one has its port (datapath/udp).
constexpr const char* kInUse = "another program uses it";

class Reach {
 public:
  Reach(Session& session, StageReport& report) : session_(session), report_(report) {}

  Result<void> run() {
    const auto silent = session_.start_servers();
    if (!silent) return fail(silent.error());
    if (session_.interrupted()) return {};
    for (const uint32_t host : *silent) add_silent(host);
    if (!silent->empty()) return {};
    if (Result<void> ran = reach_pairs(); !ran) return ran;
    judge_pairs();
    const Grade pairs_grade = grade_of(report_);  // hosts that do not answer have no routes
    if (pairs_grade != Grade::kFail && !session_.interrupted()) {
      if (Result<void> ran = reach_nics(session_, report_); !ran) return ran;
    }
    for (const HostPair& pair : leaf_pairs()) {
      if (session_.interrupted() || pairs_grade == Grade::kFail) break;
      if (Result<void> ran = find_routes(pair); !ran) return ran;
    }
    if (right_routes_ > 0) {
      report_.rows.push_back({"routes", fmt::format("{} pairs of leaves", right_routes_),
                              fmt::format("{} routes work", fmt::join(right_counts_, ", ")),
                              "as the topology has them"});
    }
    const bool counts = !session_.fabric().has_plan() && pairs_grade != Grade::kFail;
    return counts && !session_.interrupted() ? count_routes(session_, report_) : Result<void>();
  }

 private:
  void add_fail(const std::string& check, const std::string& where, const std::string& measured,
                const std::string& expected, const std::string& todo) {
    report_.rows.push_back({check, where, measured, expected, Grade::kFail, todo});
  }

  void add_silent(uint32_t host) {
    const std::string& name = session_.host(host);
    const std::string complaint = session_.server_complaint(host);
    const bool in_use = complaint.find(kInUse) != std::string::npos;
    add_fail("server", name, complaint.empty() ? "does not listen" : complaint, "listens",
             in_use
                 ? fmt::format("end the program on {} that has UDP port 18700: `ss -lunp` "
                               "there shows it",
                               name)
                 : fmt::format("start `heddle perf --listen` on {} and see what it reports", name));
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
    const std::optional<Json> test = first_test(document_of(end));
    if (!test) {
      result.complaint = complaint_of(end);
      return result;
    }
    result.reached = true;
    result.wrong_messages = count_of(number_of(*test, "wrong_messages"));
    result.packet_bytes =
        static_cast<uint32_t>(count_of(number_of(*test, "packet_bytes"), UINT32_MAX));
    return result;
  }

  Result<void> reach_pairs() {
    for (const std::vector<HostPair>& round : session_.rounds(true)) {
      if (session_.interrupted()) return {};
      Result<std::vector<PairResult>> results = reach_round(round);
      if (!results) return fail(std::move(results).error());
      if (session_.interrupted()) return {};  // its commands were ended
      for (PairResult& result : *results) {
        if (!result.reached && !session_.server_is_stopped(result.pair.to)) {
          Result<std::vector<PairResult>> again = reach_round({result.pair});  // alone
          if (!again) return fail(std::move(again).error());
          if (session_.interrupted()) return {};
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
               "something in between changes packets and their checksums: replace it, or use keys "
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
    if (const std::optional<uint32_t> host = host_not_reached(lost, all)) {
      add_fail("reach", session_.host(*host), "no other host reaches it", "every host",
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

  uint32_t expected_mtu(const HostPair& pair) {
    const uint32_t planned = routes_.facts(pair).mtu_bytes;
    return session_.expectations().mtu_bytes.value_or(planned);
  }

  void judge_packets(const std::vector<HostPair>& all) {
    const auto is_small = [this](const PairResult& result) {
      return result.reached && result.packet_bytes < expected_mtu(result.pair);
    };
    const std::vector<HostPair> small = pairs_where(is_small);
    const std::string todo =
        "find the port with the smaller MTU in between: `heddle verify --stage inventory` lists "
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
                            "as the ports in between"});
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

  // Of the first NICs, then of the further ones that the topology has.
  std::vector<HostPair> leaf_pairs() const {
    std::vector<HostPair> pairs;
    for (uint32_t number = 0;; ++number) {
      const std::vector<uint32_t> hosts = first_of_leaves(number);
      if (hosts.empty()) return pairs;
      for (HostPair pair : pairs_of_leaves(hosts)) {
        pair.nics = {number, number};
        pairs.push_back(pair);
      }
    }
  }

  // The first host of each leaf that NICs with this number are on.
  std::vector<uint32_t> first_of_leaves(uint32_t number) const {
    std::map<uint32_t, uint32_t> first;  // by leaf
    for (uint32_t i = 0; i < session_.hosts(); ++i) {
      const std::vector<HostNic> nics = session_.fabric().nics(i);
      const bool is_there = number == 0 || (number < nics.size() && nics[number].planned);
      if (is_there) first.try_emplace(leaf_of(session_.topology(), i, number), i);
    }
    std::vector<uint32_t> hosts;
    for (const auto& [leaf, host] : first) {
      if (leaf != UINT32_MAX) hosts.push_back(host);
    }
    return hosts;
  }

  // Each to the others; quick: to the next leaf and back.
  std::vector<HostPair> pairs_of_leaves(const std::vector<uint32_t>& hosts) const {
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
    const auto id =
        session_.commands().start(session_.host(pair.from), paths_words(session_, pair));
    if (!id) return fail(id.error());
    session_.wait({*id}, seconds(5));
    return document_of(session_.commands().result_of(*id));
  }

  Result<void> find_routes(const HostPair& pair) {
    const uint64_t planned = routes_.facts(pair).routes;
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
        if (!seen.is_object()) continue;
        SeenRoute route{.works = seen.value("works", Json()) == true};
        for (const Json& router : seen.value("routers", Json::array())) {
          route.switches.push_back(switch_of(router));
        }
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
    std::string measured = fmt::format("{} routes work", found);
    if (!pair.over_first_nics()) {
      const std::string device = session_.fabric().nics(pair.from)[pair.nics.from].device;
      report_.data["routes"].back()["device"] = device;
      measured = device + ": " + measured;
    }
    if (found >= expected) {
      ++right_routes_;
      right_counts_.insert(found);
      return;
    }
    const std::vector<LinkUse> lost = links_behind(session_.topology(), pair, routes);
    for (const LinkUse& use : lost) {
      const std::string label = session_.fabric().link_label(use.link);
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
  Routes routes_{session_.topology()};
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
