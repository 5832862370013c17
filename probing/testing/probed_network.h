// ProbedNetwork: what probes of a synthetic fabric observe, for tests: switches that hash as the
// simulator's do, links with faults, switches that do not answer. A pure function of its seed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "probing/infer.h"
#include "probing/observations.h"
#include "probing/tasks.h"
#include "topology/topology.h"

namespace heddle::probing {

class ProbedNetwork {
 public:
  // `port_addresses`: a switch answers with the address of the port at which the probe came in, a
  // /31 a link; else with one address.
  ProbedNetwork(topology::Topology topology, uint64_t seed, bool port_addresses = false)
      : topology_(std::move(topology)), random_(seed), port_addresses_(port_addresses) {}

  const topology::Topology& topology() const { return topology_; }
  // In the direction between two nodes, by their names.
  void kill(const std::string& from, const std::string& to) { dead_.insert(hop(from, to)); }
  void lose(const std::string& from, const std::string& to, uint32_t per_million) {
    loss_[hop(from, to)] = per_million;
  }
  void slow(const std::string& from, const std::string& to, BitsPerSec rate) {
    rates_[hop(from, to)] = rate;
  }
  void delay(const std::string& from, const std::string& to, Nanos more) {
    delays_[hop(from, to)] = more;
  }
  void silence(const std::string& name);
  // Every switch answers each NIC only a limited number of times, as those that limit ICMP.
  void limit_answers(uint32_t most) { most_answers_ = most; }

  std::vector<ProbedNic> nics() const;
  void run(const std::vector<Task>& tasks, Observations& all);
  // All pairs, then trains, then what is in doubt.
  Observations probe(uint16_t entropies = 32);
  // Names of the topology, by address; only without port addresses.
  NameBook names() const;

 private:
  struct Crossing {
    uint32_t link = 0;
    bool forward = true;

    auto operator<=>(const Crossing&) const = default;
  };
  struct Packet {
    topology::Node at;
    uint32_t to = 0;  // a NIC
    uint64_t flow = 0;
    uint32_t source_port = 0;
  };
  // Where a packet ended, if not lost, with the crossing that led there.
  struct End {
    topology::Node at;
    Crossing last;
    uint32_t switches = 0;
    Nanos took;
  };

  Crossing hop(const std::string& from, const std::string& to) const;
  std::vector<Crossing> choices(const topology::Node& at, uint32_t to);
  topology::Node far_end(const Crossing& crossing) const;
  std::optional<End> travel(Packet packet, uint32_t limit, BitsPerSec* slowest);
  void send(const FlowKey& key, const Task& task, FlowProbes& flow);
  void trace(const FlowKey& key, FlowProbes& flow);
  // The router whose answer came back; empty: none.
  std::string answer(const FlowKey& key, uint32_t hop, BitsPerSec* slowest,
                     Nanos* round_trip = nullptr);

  topology::Topology topology_;
  Random random_;
  bool port_addresses_;
  std::set<Crossing> dead_;
  std::map<Crossing, uint32_t> loss_;
  std::map<Crossing, BitsPerSec> rates_;
  std::map<Crossing, Nanos> delays_;
  std::set<uint32_t> silent_;
  uint32_t most_answers_ = UINT32_MAX;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> answers_;  // by switch and NIC
  std::map<uint32_t, std::vector<uint32_t>> distances_;        // of nodes, by NIC
};

}  // namespace heddle::probing
