// See documents.h. Flows and tasks are arrays in a fixed order: there are thousands.
#include "probing/documents.h"

#include <algorithm>
#include <exception>

namespace heddle::probing {
namespace {

Unexpected unreadable(const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot read a document of probes", why,
              "all hosts need the same version of heddle");
}

Json json_of_round(const RoundSpec& spec) {
  Json nics = Json::array();
  for (const NicAddress& nic : spec.nics) nics.push_back({nic.nic, nic.address});
  return {{"run", spec.run}, {"port", spec.port}, {"nics", std::move(nics)}};
}

RoundSpec round_of(const Json& json) {
  RoundSpec spec;
  spec.run = json.at("run").get<uint64_t>();
  spec.port = json.at("port").get<uint16_t>();
  for (const Json& nic : json.at("nics")) {
    spec.nics.push_back({nic.at(0).get<uint32_t>(), nic.at(1).get<std::string>()});
  }
  return spec;
}

Task task_of(const Json& json) {
  Task task;
  task.kind = static_cast<TaskKind>(std::min(json.at(0).get<uint32_t>(), 3u));
  task.from = json.at(1).get<uint32_t>();
  task.to = json.at(2).get<uint32_t>();
  task.first_port = json.at(3).get<uint16_t>();
  task.ports = json.at(4).get<uint16_t>();
  task.hop = json.at(5).get<uint8_t>();
  task.count = json.at(6).get<uint32_t>();
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

void add_hop(const Json& json, HopProbes& hop) {
  const auto answered = json.at(1).get<uint32_t>();
  const auto router = json.at(2).get<std::string>();
  const Nanos round_trip{json.at(4).get<int64_t>()};
  if (answered > 0) {
    hop.round_trip_min = hop.answered == 0 ? round_trip : std::min(hop.round_trip_min, round_trip);
  }
  hop.varies = hop.varies || json.at(3).get<bool>() ||
               (!hop.router.empty() && !router.empty() && hop.router != router);
  hop.sent += json.at(0).get<uint32_t>();
  hop.answered += answered;
  if (hop.router.empty()) hop.router = router;
  const auto rate = json.at(5).get<uint64_t>();
  if (rate > 0) hop.train_rate = {rate};
}

void add_flow(const Json& json, FlowProbes& flow) {
  const Json& hops = json.at(3);
  if (flow.hops.size() < hops.size()) flow.hops.resize(hops.size());
  for (size_t i = 0; i < hops.size(); ++i) add_hop(hops.at(i), flow.hops[i]);
  flow.sent += json.at(4).get<uint32_t>();
  flow.delivered += json.at(5).get<uint32_t>();
  if (!json.at(6).is_null()) {
    const auto routers = json.at(6).get<uint32_t>();
    flow.routers = flow.routers ? std::min(*flow.routers, routers) : routers;
  }
  if (!json.at(7).is_null()) {
    const Nanos one_way{json.at(7).get<int64_t>()};
    flow.one_way_min = flow.one_way_min ? std::min(*flow.one_way_min, one_way) : one_way;
  }
  for (const Json& rate : json.at(8)) flow.train_rates.push_back({rate.get<uint64_t>()});
  const auto sent = json.at(9).get<uint64_t>();
  if (sent > 0) flow.train_sent = {sent};
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
    return round_of(Json::parse(text));
  } catch (const std::exception& error) {
    return unreadable(error.what());
  }
}

Result<SendSpec> parse_send_spec(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    SendSpec spec;
    spec.round = round_of(json);
    spec.packets_per_s = std::max(json.at("packets_per_s").get<uint32_t>(), 1u);
    for (const Json& task : json.at("tasks")) spec.tasks.push_back(task_of(task));
    return spec;
  } catch (const std::exception& error) {
    return unreadable(error.what());
  }
}

Json json_of(const Observations& part) {
  Json flows = Json::array();
  for (const auto& [key, flow] : part.flows) flows.push_back(json_of_flow(key, flow));
  return {{"packets", part.packets}, {"flows", std::move(flows)}};
}

Result<void> add_part(const std::string& text, Observations& all) {
  try {
    const Json json = Json::parse(text);
    all.packets += json.at("packets").get<uint64_t>();
    for (const Json& flow : json.at("flows")) {
      const FlowKey key{flow.at(0).get<uint32_t>(), flow.at(1).get<uint32_t>(),
                        flow.at(2).get<uint16_t>()};
      if (key.from >= all.nics.size() || key.to >= all.nics.size()) {
        return unreadable("a flow of a NIC that does not exist");
      }
      add_flow(flow, all.flows[key]);
    }
    return {};
  } catch (const std::exception& error) {
    return unreadable(error.what());
  }
}

}  // namespace heddle::probing
