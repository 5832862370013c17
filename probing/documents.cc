// See documents.h. Flows and tasks are arrays in a fixed order: there are thousands.
#include "probing/documents.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <set>
#include <stdexcept>

#include "probing/addresses.h"
#include "probing/params.h"

namespace heddle::probing {
namespace {

constexpr int kVersion = 1;

Unexpected unreadable(const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot read a document of probes", why,
              "all hosts need the same version of heddle");
}

// What no host can have seen, or can carry out: why.
struct Impossible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void require(bool possible, const char* why) {
  if (!possible) throw Impossible(why);
}

uint64_t number_of(const Json& json, uint64_t most, const char* why) {
  require(json.is_number_unsigned() && json.get<uint64_t>() <= most, why);
  return json.get<uint64_t>();
}

Json json_of_round(const RoundSpec& spec) {
  Json nics = Json::array();
  for (const NicAddress& nic : spec.nics) nics.push_back({nic.nic, nic.address});
  return {{"heddle_probes", kVersion},     {"run", spec.run},     {"port", spec.port},
          {"first_port", spec.first_port}, {"ports", spec.ports}, {"lasts_ns", spec.lasts.count},
          {"nics", std::move(nics)}};
}

uint16_t port_of(const Json& json) {
  return static_cast<uint16_t>(number_of(json, UINT16_MAX, "no such port"));
}

// `ports` beginning with `first`.
void require_ports(uint16_t first, uint16_t ports) {
  require(first > 0 && ports > 0 && first + ports <= 65'536, "no such source ports");
}

// The version of a document: of one without a number 0, which is older.
int64_t version_of(const Json& json) {
  require(json.is_object(), "it is no document of probes");
  const auto found = json.find("heddle_probes");
  if (found == json.end()) return 0;
  return static_cast<int64_t>(number_of(*found, UINT16_MAX, "no such version"));
}

// The machine that calls prints it, too: "this machine" would be either.
Unexpected asked_by_another(int64_t version) {
  return fail(
      ErrorCode::kVersion, "cannot probe for another heddle",
      fmt::format("its tasks are of version {}, this heddle reads version {}", version, kVersion),
      version < kVersion ? "upgrade heddle on the machine that calls"
                         : "upgrade heddle on the machine that was called");
}

RoundSpec round_of(const Json& json) {
  RoundSpec spec;
  spec.run = json.at("run").get<uint64_t>();
  spec.port = port_of(json.at("port"));
  spec.first_port = port_of(json.at("first_port"));
  spec.ports = port_of(json.at("ports"));
  require_ports(spec.first_port, spec.ports);
  spec.lasts = Nanos{static_cast<int64_t>(
      number_of(json.at("lasts_ns"), params::kLongestRound.count, "a round without end"))};
  for (const Json& nic : json.at("nics")) {
    spec.nics.push_back({static_cast<uint32_t>(number_of(nic.at(0), UINT16_MAX, "too many NICs")),
                         nic.at(1).get<std::string>()});
  }
  return spec;
}

Task task_of(const Json& json) {
  Task task;
  task.kind = static_cast<TaskKind>(number_of(json.at(0), 3, "no such task"));
  task.from = static_cast<uint32_t>(number_of(json.at(1), UINT16_MAX, "too many NICs"));
  task.to = static_cast<uint32_t>(number_of(json.at(2), UINT16_MAX, "too many NICs"));
  task.first_port = port_of(json.at(3));
  task.ports = port_of(json.at(4));
  require_ports(task.first_port, task.ports);
  task.hop = static_cast<uint8_t>(number_of(json.at(5), params::kMostRouters, "no such hop"));
  require(task.kind != TaskKind::kHop || task.hop > 0, "no such hop");
  task.count = static_cast<uint32_t>(number_of(json.at(6), UINT16_MAX, "too many packets"));
  return task;
}

Json json_of_flow(const FlowKey& key, const FlowProbes& flow) {
  Json hops = Json::array();
  for (const HopProbes& hop : flow.hops) {
    hops.push_back({hop.sent, hop.answered, hop.router, hop.varies, hop.round_trip_min.count,
                    hop.train_rate.count});
  }
  Json rates = Json::array();
  for (const BitsPerSec rate : flow.train_rates) rates.push_back(rate.count);
  return {key.from,
          key.to,
          key.source_port,
          std::move(hops),
          flow.sent,
          flow.delivered,
          flow.routers ? Json(*flow.routers) : Json(),
          flow.one_way_min ? Json(flow.one_way_min->count) : Json(),
          std::move(rates),
          flow.train_sent.count};
}

uint32_t count_of(const Json& json) {
  return static_cast<uint32_t>(number_of(json, params::kMostPackets, "a count out of bounds"));
}

BitsPerSec rate_of_json(const Json& json) {
  return {number_of(json, params::kMostRate.count, "a rate out of bounds")};
}

Nanos delay_of(const Json& json, Nanos most) {
  require(json.is_number_integer(), "a delay that is no number");
  require(!json.is_number_unsigned() || json.get<uint64_t>() <= uint64_t{INT64_MAX},
          "a delay out of bounds");
  const Nanos delay{json.get<int64_t>()};
  require(delay <= most && delay >= Nanos{-most.count}, "a delay out of bounds");
  return delay;
}

void add_hop(const Json& json, HopProbes& hop) {
  const uint32_t sent = count_of(json.at(0));
  const uint32_t answered = count_of(json.at(1));
  const auto router = json.at(2).get<std::string>();
  const Nanos round_trip = delay_of(json.at(4), params::kMostRoundTrip);
  require(answered <= sent, "more answers than probes");
  require(router.empty() ? answered == 0 : is_address(router), "a router without an address");
  if (answered > 0) {
    hop.round_trip_min = hop.answered == 0 ? round_trip : std::min(hop.round_trip_min, round_trip);
  }
  hop.varies = hop.varies || json.at(3).get<bool>() ||
               (!hop.router.empty() && !router.empty() && hop.router != router);
  hop.sent += sent;
  hop.answered += answered;
  if (hop.router.empty()) hop.router = router;
  const BitsPerSec rate = rate_of_json(json.at(5));
  if (rate.count > 0) hop.train_rate = rate;
}

void add_sent(const Json& json, FlowProbes& flow) {
  const Json& hops = json.at(3);
  require(hops.size() <= params::kMostRouters, "a route of too many hops");
  if (flow.hops.size() < hops.size()) flow.hops.resize(hops.size());
  for (size_t i = 0; i < hops.size(); ++i) add_hop(hops.at(i), flow.hops[i]);
  flow.sent += count_of(json.at(4));
  const BitsPerSec sent = rate_of_json(json.at(9));
  if (sent.count > 0) flow.train_sent = sent;
  require(count_of(json.at(5)) == 0 && json.at(6).is_null() && json.at(7).is_null() &&
              json.at(8).empty(),
          "arrivals in what a sender reports");
}

void add_received(const Json& json, FlowProbes& flow) {
  require(json.at(3).empty() && count_of(json.at(4)) == 0 && count_of(json.at(9)) == 0,
          "probes in what a receiver reports");
  flow.delivered += count_of(json.at(5));
  require(flow.delivered <= flow.sent, "more arrivals than were sent");
  if (!json.at(6).is_null()) {
    const auto routers = static_cast<uint32_t>(
        number_of(json.at(6), params::kMostRouters, "a route of too many hops"));
    flow.routers = flow.routers ? std::min(*flow.routers, routers) : routers;
  }
  if (!json.at(7).is_null()) {
    const Nanos one_way = delay_of(json.at(7), params::kMostClockDifference);
    flow.one_way_min = flow.one_way_min ? std::min(*flow.one_way_min, one_way) : one_way;
  }
  require(json.at(8).size() <= params::kMostTrains, "too many trains");
  for (const Json& rate : json.at(8)) flow.train_rates.push_back(rate_of_json(rate));
}

FlowKey key_of(const Json& json, const Part& part, const Observations& all) {
  const uint64_t last = all.nics.empty() ? 0 : all.nics.size() - 1;
  const char* const unknown = "a flow of a NIC that does not exist";
  const FlowKey key{static_cast<uint32_t>(number_of(json.at(0), last, unknown)),
                    static_cast<uint32_t>(number_of(json.at(1), last, unknown)),
                    static_cast<uint16_t>(number_of(json.at(2), UINT16_MAX, "no such port"))};
  const std::string& from = all.nics.at(key.from).host;
  const std::string& to = all.nics.at(key.to).host;
  require(from != to && (part.is_sender ? from : to) == part.host, "a flow of other hosts");
  require(part.is_sender || all.flows.contains(key), "a flow that nothing was sent of");
  return key;
}

}  // namespace

std::string text_of(const RoundSpec& spec) { return json_of_round(spec).dump(); }

std::string text_of(const SendSpec& spec) {
  Json json = json_of_round(spec.round);
  json["packets_per_s"] = spec.packets_per_s;
  Json tasks = Json::array();
  for (const Task& task : spec.tasks) {
    tasks.push_back({static_cast<uint32_t>(task.kind), task.from, task.to, task.first_port,
                     task.ports, task.hop, task.count});
  }
  json["tasks"] = std::move(tasks);
  return json.dump();
}

Result<RoundSpec> parse_round_spec(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    if (const int64_t version = version_of(json); version != kVersion) {
      return asked_by_another(version);
    }
    return round_of(json);
  } catch (const std::exception& error) {
    return unreadable(error.what());
  }
}

Result<SendSpec> parse_send_spec(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    if (const int64_t version = version_of(json); version != kVersion) {
      return asked_by_another(version);
    }
    SendSpec spec;
    spec.round = round_of(json);
    spec.packets_per_s = static_cast<uint32_t>(
        number_of(json.at("packets_per_s"), params::kMostPacketsPerSecond, "no such rate"));
    require(spec.packets_per_s > 0, "no such rate");
    for (const Json& task : json.at("tasks")) spec.tasks.push_back(task_of(task));
    return spec;
  } catch (const std::exception& error) {
    return unreadable(error.what());
  }
}

Json json_of(const Observations& part) {
  Json flows = Json::array();
  for (const auto& [key, flow] : part.flows) flows.push_back(json_of_flow(key, flow));
  return {{"heddle_probes", kVersion}, {"packets", part.packets}, {"flows", std::move(flows)}};
}

Result<void> add_part(const std::string& text, const Part& part, Observations& all) {
  const auto wrong = [&](const char* why) {
    return fail(ErrorCode::kInvalid, "cannot believe what " + part.host + " reports", why,
                "see whether it runs the same version of heddle, and who else uses it");
  };
  try {
    const Json json = Json::parse(text);
    if (const int64_t version = version_of(json); version != kVersion) {
      return fail(ErrorCode::kVersion, "cannot read what " + part.host + " reports",
                  fmt::format("its probes are of version {}, this heddle reads version {}", version,
                              kVersion),
                  "upgrade heddle on " + (version < kVersion ? part.host : "this machine"));
    }
    all.packets += number_of(json.at("packets"), params::kMostPacketsOfHost, "too many packets");
    std::set<FlowKey> seen;
    for (const Json& flow : json.at("flows")) {
      const FlowKey key = key_of(flow, part, all);
      require(seen.insert(key).second, "one flow twice");
      FlowProbes& known = all.flows[key];
      part.is_sender ? add_sent(flow, known) : add_received(flow, known);
    }
    return {};
  } catch (const Impossible& error) {
    return wrong(error.what());
  } catch (const std::exception&) {  // its text quotes what was reported
    return wrong("it is no document of probes");
  }
}

}  // namespace heddle::probing
