// See nic_reach.h.
#include "acceptance/stages/nic_reach.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "acceptance/agent_numbers.h"
#include "acceptance/shared_cause.h"
#include "acceptance/stages/nic_pairs.h"

namespace heddle::acceptance {
namespace {

// Of the stage's data and rows.
constexpr const char* kCheck = "reach of NIC";
constexpr const char* kMtuCheck = "MTU of NIC";

struct Tried {
  HostPair pair;
  bool planned = false;
  bool reached = false;
  uint32_t packet_bytes = 0;
  uint32_t mtu_bytes = 0;  // that its packets should have; 0: not known
  std::string complaint;   // if not reached

  bool is_small() const { return reached && packet_bytes < mtu_bytes; }
};

class NicReach {
 public:
  NicReach(Session& session, StageReport& report) : session_(session), report_(report) {}

  Result<void> run() {
    const std::vector<std::vector<HostNic>> nics = nics_of(session_.fabric());
    std::map<std::string, std::vector<Tried>> tried;  // by device
    for (const std::vector<HostPair>& round : session_.rounds(true)) {
      for (const auto& [device, pairs] : nic_pairs(nics, round)) {
        if (session_.interrupted()) return {};
        if (Result<void> ran = try_all(pairs, tried[device]); !ran) return ran;
      }
    }
    if (session_.interrupted()) return {};
    for (const auto& [device, pairs] : tried) judge(device, pairs);
    add_missing(nics);
    return {};
  }

 private:
  // Of disjoint pairs; those that are not reached once more, alone.
  Result<void> try_all(const std::vector<NicPair>& pairs, std::vector<Tried>& tried) {
    Result<std::vector<Tried>> all = try_once(pairs);
    if (!all) return fail(std::move(all).error());
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (!(*all)[i].reached && !session_.interrupted()) {
        Result<std::vector<Tried>> again = try_once({pairs[i]});
        if (!again) return fail(std::move(again).error());
        (*all)[i] = again->front();
      }
      tried.push_back((*all)[i]);
    }
    return {};
  }

  Result<std::vector<Tried>> try_once(const std::vector<NicPair>& pairs) {
    std::vector<Commands::Id> ids;
    for (const NicPair& each : pairs) {
      const auto id = session_.commands().start(
          session_.host(each.pair.from),
          {"heddle", "perf", each.to.address, "bw", "-t", "100ms", "-s", "16K", "--check", "--json",
           "--bind", each.from.address, "--set", "handshake_timeout_ms=2500"});
      if (!id) return fail(id.error());
      ids.push_back(*id);
    }
    session_.wait(ids, millis(100));
    std::vector<Tried> tried;
    for (size_t i = 0; i < pairs.size(); ++i) {
      tried.push_back(tried_in(pairs[i], session_.commands().result_of(ids[i])));
    }
    return tried;
  }

  Tried tried_in(const NicPair& pair, const CommandEnd& end) const {
    const std::optional<Json> test = first_test(document_of(end));
    Tried tried{.pair = pair.pair, .planned = pair.planned(), .reached = test.has_value()};
    if (!test) {
      tried.complaint = complaint_of(end);
      return tried;
    }
    tried.packet_bytes = bytes_of(*test, "packet_bytes");
    tried.mtu_bytes = expected_mtu(pair, bytes_of(*test, "offered_packet_bytes"));
    if (count_of(number_of(*test, "wrong_messages")) > 0) {
      tried.reached = false;
      tried.complaint = "messages arrived changed";
    }
    return tried;
  }

  static uint32_t bytes_of(const Json& test, const char* name) {
    return static_cast<uint32_t>(count_of(number_of(test, name), UINT32_MAX));
  }

  // `offered`: the smaller one of the MTUs of the two NICs.
  uint32_t expected_mtu(const NicPair& pair, uint32_t offered) const {
    if (!pair.planned()) return offered;
    const RouteFacts planned = routes_between(session_.topology(), pair.pair);
    return session_.expectations().mtu_bytes.value_or(planned.mtu_bytes);
  }

  void judge(const std::string& device, const std::vector<Tried>& tried) {
    std::vector<HostPair> all;
    std::vector<HostPair> lost;
    bool planned = false;
    for (const Tried& each : tried) {
      all.push_back(each.pair);
      if (!each.reached) lost.push_back(each.pair);
      planned = planned || each.planned;
      report_.data["nics"].push_back({{"device", device},
                                      {"from", session_.host(each.pair.from)},
                                      {"to", session_.host(each.pair.to)},
                                      {"reached", each.reached},
                                      {"packet_bytes", each.packet_bytes},
                                      {"complaint", each.complaint}});
    }
    const bool none = lost.size() == all.size();
    if (none && !planned) {
      report_.rows.push_back(
          {kCheck, fmt::format("{} of {} pairs", lost.size(), all.size()),
           fmt::format("{}: {}", device, tried.front().complaint), "an answer", Grade::kWarn,
           fmt::format("no pair is reached over {}: fine where it is not of this fabric", device)});
      return;
    }
    add_lost(device, tried, lost, all);
    if (none) return;
    report_.rows.push_back({kCheck,
                            fmt::format("{} of {} pairs", all.size() - lost.size(), all.size()),
                            fmt::format("{}: answered, payload unchanged", device), "all"});
    judge_packets(device, tried, planned);
  }

  // Of pairs that are reached.
  void judge_packets(const std::string& device, const std::vector<Tried>& tried, bool planned) {
    std::vector<HostPair> reached;
    std::vector<const Tried*> small;
    std::set<uint32_t> sizes;  // of the others
    for (const Tried& each : tried) {
      if (!each.reached) continue;
      reached.push_back(each.pair);
      if (each.is_small()) {
        small.push_back(&each);
      } else {
        sizes.insert(each.packet_bytes);
      }
    }
    if (small.size() == reached.size() && !planned) {
      const Tried& first = *small.front();
      report_.rows.push_back(
          {kMtuCheck, fmt::format("{} of {} pairs", small.size(), tried.size()),
           fmt::format("{}: {} bytes", device, first.packet_bytes),
           fmt::format("{} bytes", first.mtu_bytes), Grade::kWarn,
           fmt::format("no pair has full packets over {}: fine where it is not of this fabric",
                       device)});
      return;
    }
    add_small(device, small, reached);
    if (sizes.empty()) return;
    report_.rows.push_back(
        {kMtuCheck, fmt::format("{} of {} pairs", reached.size() - small.size(), tried.size()),
         fmt::format("{}: {} bytes", device, fmt::join(sizes, ", ")), "as the ports in between"});
  }

  void add_small(const std::string& device, const std::vector<const Tried*>& small,
                 const std::vector<HostPair>& reached) {
    const char* const todo =
        "find the port with the smaller MTU in between: `heddle verify --stage inventory` lists "
        "them";
    std::vector<HostPair> pairs;
    for (const Tried* each : small) pairs.push_back(each->pair);
    if (const std::optional<uint32_t> host = host_behind(pairs, reached)) {
      report_.rows.push_back({kMtuCheck, session_.host(*host),
                              fmt::format("{}: packets to and from it are smaller", device),
                              fmt::format("{} bytes", small.front()->mtu_bytes), Grade::kFail,
                              todo});
      return;
    }
    for (const Tried* each : small) {
      report_.rows.push_back({kMtuCheck, session_.pair_name(each->pair),
                              fmt::format("{}: {} bytes", device, each->packet_bytes),
                              fmt::format("{} bytes", each->mtu_bytes), Grade::kFail, todo});
    }
  }

  void add_missing(const std::vector<std::vector<HostNic>>& nics) {
    for (const auto& [device, hosts] : hosts_without_nic(nics)) {
      std::vector<std::string> names;
      for (const uint32_t host : hosts) names.push_back(session_.host(host));
      report_.rows.push_back(
          {kCheck, fmt::format("{} of {} hosts", hosts.size(), nics.size()),
           fmt::format("{}: no NIC of this name on {}", device, fmt::join(names, ", ")), ""});
    }
  }

  void add_lost(const std::string& device, const std::vector<Tried>& tried,
                const std::vector<HostPair>& lost, const std::vector<HostPair>& all) {
    if (const std::optional<uint32_t> host = host_behind(lost, all)) {
      report_.rows.push_back(
          {kCheck, session_.host(*host),
           fmt::format("{}: no other host reaches it, and it reaches none", device), "every host",
           Grade::kFail,
           fmt::format("check the cable, address, routes and firewall (UDP port 18700) of {} on {}",
                       device, session_.host(*host))});
      return;
    }
    for (const Tried& each : tried) {
      if (each.reached) continue;
      report_.rows.push_back(
          {kCheck, session_.pair_name(each.pair), fmt::format("{}: {}", device, each.complaint),
           "an answer", Grade::kFail,
           "check routes and firewalls between the two, in this direction and back"});
    }
  }

  Session& session_;
  StageReport& report_;
};

}  // namespace

Result<void> reach_nics(Session& session, StageReport& report) {
  return NicReach(session, report).run();
}

}  // namespace heddle::acceptance
