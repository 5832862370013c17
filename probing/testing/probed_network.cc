// See probed_network.h.
#include "probing/testing/probed_network.h"

#include <algorithm>
#include <deque>

#include "base/check.h"
#include "probing/next_tasks.h"
#include "topology/ecmp.h"
#include "topology/names.h"

namespace heddle::probing {

using topology::Node;
using topology::NodeKind;

ProbedNetwork::Crossing ProbedNetwork::hop(const std::string& from, const std::string& to) const {
  const auto ends = topology::find_link(topology_, from, to);
  CHECK(ends.has_value());
  return {ends->link, ends->forward};
}

void ProbedNetwork::silence(const std::string& name) {
  silent_.insert(*topology::find_switch(topology_, name));
}

std::vector<ProbedNic> ProbedNetwork::nics() const {
  std::vector<ProbedNic> nics;
  for (uint32_t i = 0; i < topology_.nics.size(); ++i) {
    nics.push_back({topology_.hosts[topology_.nics[i].host].name,
                    topology::nic_number(topology_, i), "10.0." + std::to_string(i) + ".1"});
  }
  return nics;
}

NameBook ProbedNetwork::names() const {
  return [this](const std::string& address) -> std::optional<std::string> {
    for (uint32_t i = 0; i < topology_.switches.size(); ++i) {
      if (address == "10.255." + std::to_string(i) + ".1") return topology_.switches[i].name;
    }
    return std::nullopt;
  };
}

Node ProbedNetwork::far_end(const Crossing& crossing) const {
  const topology::Link& link = topology_.links[crossing.link];
  return crossing.forward ? link.b : link.a;
}

std::vector<ProbedNetwork::Crossing> ProbedNetwork::choices(const Node& at, uint32_t to) {
  const auto number = [&](const Node& node) {
    return node.kind == NodeKind::kNic ? node.index : topology_.nics.size() + node.index;
  };
  std::vector<uint32_t>& hops = distances_[to];
  if (hops.empty()) {
    hops.assign(topology_.nics.size() + topology_.switches.size(), UINT32_MAX);
    hops[to] = 0;
    std::deque<Node> next = {{NodeKind::kNic, to}};
    while (!next.empty()) {
      const Node here = next.front();
      next.pop_front();
      if (here.kind == NodeKind::kNic && here.index != to) continue;
      for (const topology::Link& link : topology_.links) {
        if (link.a != here && link.b != here) continue;
        const Node far = link.a == here ? link.b : link.a;
        if (hops[number(far)] != UINT32_MAX) continue;
        hops[number(far)] = hops[number(here)] + 1;
        next.push_back(far);
      }
    }
  }
  std::vector<Crossing> found;
  for (uint32_t i = 0; i < topology_.links.size(); ++i) {
    const topology::Link& link = topology_.links[i];
    if (link.a != at && link.b != at) continue;
    const Crossing crossing{i, link.a == at};
    if (hops[number(far_end(crossing))] + 1 == hops[number(at)]) found.push_back(crossing);
  }
  return found;
}

std::optional<ProbedNetwork::End> ProbedNetwork::travel(Packet packet, uint32_t limit,
                                                        BitsPerSec* slowest) {
  End end{packet.at, {}, 0, {}};
  const Node destination{NodeKind::kNic, packet.to};
  while (end.at != destination) {
    if (end.at.kind == NodeKind::kSwitch && end.switches == limit) return end;
    const std::vector<Crossing> open = choices(end.at, packet.to);
    if (open.empty()) return std::nullopt;
    const uint64_t seed =
        end.at.kind == NodeKind::kSwitch ? topology_.switches[end.at.index].hash_seed : 0;
    const topology::EcmpKey key{static_cast<uint32_t>(packet.flow), packet.to,
                                static_cast<uint16_t>(packet.source_port), 4791};
    end.last = open[topology::ecmp_choice(static_cast<uint32_t>(open.size()), seed, key)];
    if (dead_.contains(end.last)) return std::nullopt;
    const auto loss = loss_.find(end.last);
    if (loss != loss_.end() && random_.chance_per_million(loss->second)) return std::nullopt;
    end.took += micros(5) + nanos(static_cast<int64_t>(random_.below(10'000)));
    const auto delay = delays_.find(end.last);
    if (delay != delays_.end()) end.took += delay->second;
    if (slowest != nullptr) {
      const auto rate = rates_.find(end.last);
      const BitsPerSec own =
          rate == rates_.end() ? topology_.links[end.last.link].shape.rate : rate->second;
      *slowest = std::min(*slowest, own);
    }
    end.at = far_end(end.last);
    end.switches += end.at.kind == NodeKind::kSwitch ? 1 : 0;
  }
  return end;
}

std::string ProbedNetwork::answer(const FlowKey& key, uint32_t hop, BitsPerSec* slowest,
                                  Nanos* round_trip) {
  const Packet probe{{NodeKind::kNic, key.from}, key.to, key.from, key.source_port};
  const std::optional<End> end = travel(probe, hop, slowest);
  if (!end || end->at.kind != NodeKind::kSwitch || silent_.contains(end->at.index)) return "";
  if (++answers_[{end->at.index, key.from}] > most_answers_) return "";
  const Packet reply{end->at, key.from, 100'000 + end->at.index, 0};
  const std::optional<End> back = travel(reply, UINT32_MAX, nullptr);
  if (!back) return "";
  if (round_trip != nullptr) *round_trip = end->took + back->took;
  if (!port_addresses_) return "10.255." + std::to_string(end->at.index) + ".1";
  const uint32_t number = 2 * end->last.link + (end->last.forward ? 1 : 0);
  return "10.100." + std::to_string(number / 256) + "." + std::to_string(number % 256);
}

void ProbedNetwork::trace(const FlowKey& key, FlowProbes& flow) {
  const Packet probe{{NodeKind::kNic, key.from}, key.to, key.from, key.source_port};
  uint32_t silent = 0;
  for (uint32_t hop = 1; hop <= 8 && silent < 3; ++hop) {
    std::string router;
    uint32_t sent = 0;
    Nanos round_trip;
    for (; sent < 3 && router.empty(); ++sent) {
      const auto end = travel(probe, hop, nullptr);
      if (end && end->at.kind == NodeKind::kNic) return;
      router = answer(key, hop, nullptr, &round_trip);
    }
    flow.hops.resize(hop);
    HopProbes& probes = flow.hops.back();
    probes.sent = sent;
    probes.answered = router.empty() ? 0 : 1;
    silent = router.empty() ? silent + 1 : 0;
    probes.router = router;
    probes.round_trip_min = round_trip;
  }
}

void ProbedNetwork::send(const FlowKey& key, const Task& task, FlowProbes& flow) {
  const Packet packet{{NodeKind::kNic, key.from}, key.to, key.from, key.source_port};
  if (task.kind == TaskKind::kTrace) trace(key, flow);
  if (task.kind == TaskKind::kDeliver) {
    flow.sent += task.count;
    for (uint32_t i = 0; i < task.count; ++i) {
      const auto end = travel(packet, UINT32_MAX, nullptr);
      if (!end) continue;
      ++flow.delivered;
      flow.routers = end->switches;
      const Nanos one_way = end->took + seconds(1) * (int64_t{key.to} - int64_t{key.from});
      flow.one_way_min = flow.one_way_min ? std::min(*flow.one_way_min, one_way) : one_way;
    }
  }
  if (task.hop > 0 && flow.hops.size() < task.hop) flow.hops.resize(task.hop);
  if (task.kind == TaskKind::kHop) {
    HopProbes& hop = flow.hops[task.hop - 1];
    hop.sent += task.count;
    for (uint32_t i = 0; i < task.count; ++i) {
      hop.answered += answer(key, task.hop, nullptr).empty() ? 0 : 1;
    }
  }
  if (task.kind == TaskKind::kTrain) {
    BitsPerSec rate{UINT64_MAX};
    const bool arrived = task.hop == 0 ? travel(packet, UINT32_MAX, &rate).has_value()
                                       : !answer(key, task.hop, &rate).empty();
    if (!arrived) return;
    flow.train_sent = gigabits_per_s(100'000);
    if (task.hop == 0) flow.train_rates.push_back(rate);
    if (task.hop > 0) flow.hops[task.hop - 1].train_rate = rate;
  }
}

void ProbedNetwork::run(const std::vector<Task>& tasks, Observations& all) {
  for (const Task& task : tasks) {
    for (uint32_t i = 0; i < task.ports; ++i) {
      const FlowKey key{task.from, task.to, static_cast<uint16_t>(task.first_port + i)};
      send(key, task, all.flows[key]);
    }
  }
}

Observations ProbedNetwork::probe(uint16_t entropies) {
  Observations all{.nics = nics(), .flows = {}};
  run(first_tasks(all.nics, {.first_port = 24'000, .entropies = entropies, .deliveries = 20}), all);
  run(train_tasks(all, infer(all, nullptr)), all);
  run(doubt_tasks(all, infer(all, nullptr)), all);
  return all;
}

}  // namespace heddle::probing
