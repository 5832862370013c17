// Topologies and fault times from the options, with separate random generators: see script.h.
#include "tests/vopr/script.h"

#include <algorithm>
#include <string>

#include "base/random.h"
#include "topology/generators.h"

namespace heddle::vopr {
namespace {

using simulator::ProcessChange;
using simulator::ProcessChangeKind;
using topology::LinkChange;
using topology::LinkChangeKind;
using topology::LinkDirection;

class ScriptMaker {
 public:
  ScriptMaker(const Options& options, const topology::Topology& topology)
      : options_(options), topology_(topology), random_(options.seed ^ 0x736372697074) {}

  Script make() {
    const FaultOptions& faults = options_.faults;
    for (uint32_t i = 0; i < faults.bursts; ++i) add_burst();
    for (uint32_t i = 0; i < faults.outages; ++i) add_outage();
    for (uint32_t i = 0; i < faults.rate_changes; ++i) add_rate_change();
    for (uint32_t i = 0; i < faults.pauses; ++i) {
      add_spell(ProcessChangeKind::kPause, ProcessChangeKind::kResume, faults.pause_most);
    }
    for (uint32_t i = 0; i < faults.idles; ++i) {
      add_spell(ProcessChangeKind::kCallerAway, ProcessChangeKind::kCallerBack, faults.idle_most);
    }
    for (uint32_t i = 0; i < faults.crashes; ++i) {
      add_spell(faults.crash_with_host ? ProcessChangeKind::kVanish : ProcessChangeKind::kKill,
                ProcessChangeKind::kStart, faults.down_most);
    }
    heal();
    if (faults.one_stays) add_lasting_outage();
    std::stable_sort(script_.hosts.begin(), script_.hosts.end(),
                     [](const ProcessChange& a, const ProcessChange& b) { return a.at < b.at; });
    std::stable_sort(script_.links.begin(), script_.links.end(),
                     [](const LinkChange& a, const LinkChange& b) { return a.at < b.at; });
    return script_;
  }

 private:
  Nanos up_to(Nanos most) {
    return nanos(static_cast<int64_t>(random_.below(static_cast<uint64_t>(most.count) + 1)));
  }
  uint32_t any_link() { return static_cast<uint32_t>(random_.below(topology_.links.size())); }
  LinkDirection any_direction() { return static_cast<LinkDirection>(random_.below(3)); }
  Nanos end_of(Nanos start, Nanos most) {
    return std::min(start + up_to(most), options_.faults_for);
  }

  void add(Nanos at, uint32_t link, LinkDirection direction, LinkChangeKind kind) {
    LinkChange change;
    change.at = at;
    change.link = link;
    change.direction = direction;
    change.kind = kind;
    script_.links.push_back(change);
  }

  void add_burst() {
    const Nanos start = up_to(options_.faults_for);
    const uint32_t link = any_link();
    add(start, link, any_direction(), LinkChangeKind::kFaults);
    script_.links.back().faults.loss_per_million = 900'000;
    add(end_of(start, options_.faults.burst_most), link, LinkDirection::kBoth,
        LinkChangeKind::kFaults);
    script_.links.back().faults = topology_.links[link].forward;
  }

  void add_outage() {
    const Nanos start = up_to(options_.faults_for);
    const uint32_t link = any_link();
    const LinkDirection direction = any_direction();
    const Nanos end = end_of(start, options_.faults.outage_most);
    add(start, link, direction, LinkChangeKind::kDown);
    if (options_.faults.outages_noticed) {
      add(start + up_to(end - start), link, direction, LinkChangeKind::kNotice);
    }
    add(end, link, direction, LinkChangeKind::kUp);
  }

  // One link between switches is down at the end, regardless of its other faults.
  void add_lasting_outage() {
    Random random(options_.seed ^ 0x6c617374);
    uint32_t link = 0;
    do {
      link = static_cast<uint32_t>(random.below(topology_.links.size()));
    } while (topology_.links[link].a.kind == topology::NodeKind::kNic);
    const auto start = nanos(
        static_cast<int64_t>(random.below(static_cast<uint64_t>(options_.faults_for.count) + 1)));
    const auto direction = static_cast<LinkDirection>(random.below(3));
    add(start, link, direction, LinkChangeKind::kDown);
    add(options_.faults_for, link, direction, LinkChangeKind::kDown);
  }

  void add_rate_change() {
    add(up_to(options_.faults_for), any_link(), any_direction(), LinkChangeKind::kRate);
    const topology::LinkShape& shape = topology_.links[script_.links.back().link].shape;
    script_.links.back().rate = {shape.rate.count / random_.between(2, 20)};
  }

  void add_spell(ProcessChangeKind begins, ProcessChangeKind ends, Nanos most) {
    const Nanos start = up_to(options_.faults_for);
    const auto host = static_cast<uint32_t>(random_.below(topology_.hosts.size()));
    script_.hosts.push_back({start, host, begins});
    script_.hosts.push_back({end_of(start, most), host, ends});
  }

  // Everything works again when the faults end.
  void heal() {
    for (uint32_t link = 0; link < topology_.links.size(); ++link) {
      add(options_.faults_for, link, LinkDirection::kBoth, LinkChangeKind::kUp);
      add(options_.faults_for, link, LinkDirection::kBoth, LinkChangeKind::kFaults);
      add(options_.faults_for, link, LinkDirection::kBoth, LinkChangeKind::kRate);
      script_.links.back().rate = topology_.links[link].shape.rate;
    }
    for (uint32_t host = 0; host < topology_.hosts.size(); ++host) {
      for (const ProcessChangeKind kind : {ProcessChangeKind::kStart, ProcessChangeKind::kResume,
                                           ProcessChangeKind::kCallerBack}) {
        script_.hosts.push_back({options_.faults_for, host, kind});
      }
    }
  }

  const Options& options_;
  const topology::Topology& topology_;
  Random random_;
  Script script_;
};

topology::LinkShape host_shape(const FabricOptions& fabric) {
  topology::LinkShape shape{fabric.host_rate, fabric.host_delay, fabric.queue, fabric.ecn_threshold,
                            fabric.host_mtu};
  shape.ecn_ramp = fabric.ecn_ramp;
  shape.ecn_ramp_per_million = fabric.ecn_ramp_per_million;
  return shape;
}

topology::LinkShape fabric_shape(const FabricOptions& fabric) {
  topology::LinkShape shape = host_shape(fabric);
  shape.rate = fabric.fabric_rate;
  shape.delay = fabric.fabric_delay;
  shape.mtu_bytes = fabric.fabric_mtu;
  return shape;
}

topology::Topology make_shape(const FabricOptions& fabric) {
  switch (fabric.shape) {
    case FabricShape::kPointToPoint:
      return topology::point_to_point(host_shape(fabric));
    case FabricShape::kParallelPaths:
      return topology::parallel_paths(fabric.parallel_paths, host_shape(fabric),
                                      fabric_shape(fabric));
    case FabricShape::kLeafSpine:
      break;
  }
  topology::LeafSpineShape shape;
  shape.leaves = fabric.leaves;
  shape.spines = fabric.spines;
  shape.hosts_per_leaf = fabric.hosts_per_leaf;
  shape.host_link = host_shape(fabric);
  shape.spine_link = fabric_shape(fabric);
  shape.hash_seed = fabric.hash_seed;
  return topology::leaf_spine(shape);
}

// Further NICs of every host, on separate switches. NICs of the same rank are consecutive, after
// all first NICs.
void add_rails(const FabricOptions& fabric, topology::Topology& topology) {
  const auto hosts = static_cast<uint32_t>(topology.hosts.size());
  for (uint32_t rank = 0; rank < fabric.further_nics; ++rank) {
    if (rank == 0 || !fabric.one_rail) {
      topology.switches.push_back({"rail" + std::to_string(rank), fabric.hash_seed + rank});
    }
    const auto rail = static_cast<uint32_t>(topology.switches.size() - 1);
    for (uint32_t host = 0; host < hosts; ++host) {
      const auto nic = static_cast<uint32_t>(topology.nics.size());
      topology.nics.push_back({host});
      topology.links.push_back({{topology::NodeKind::kNic, nic},
                                {topology::NodeKind::kSwitch, rail},
                                host_shape(fabric),
                                {},
                                {}});
    }
  }
}

// The memories of switches: exactly as large as their guarantees need.
void add_memories(const FabricOptions& fabric, topology::Topology& topology) {
  if (!fabric.switches.lossless && fabric.shared_packets == 0) return;
  std::vector<uint64_t> headroom(topology.switches.size());
  const uint64_t full = topology::full_packet_bytes(host_shape(fabric));
  for (const topology::Link& link : topology.links) {
    for (const topology::Node& end : {link.a, link.b}) {
      if (end.kind != topology::NodeKind::kSwitch) continue;
      headroom[end.index] += topology::pause_headroom(link.shape).count;
    }
  }
  const std::vector<uint32_t> ports = topology::switch_ports(topology);
  for (uint32_t i = fabric.some_switches_plain ? 1 : 0; i < topology.switches.size(); ++i) {
    topology::SwitchShape shape = fabric.switches;
    if (shape.lossless) {
      shape.xoff = {fabric.lossless_packets * full};
      shape.xon = {shape.xoff.count - full};
      shape.buffer = {ports[i] * shape.xoff.count + headroom[i]};
    } else {
      shape.buffer = {(fabric.shared_packets * full + shape.reserve.count) * (ports[i] + 1)};
    }
    topology.switches[i].shape = shape;
  }
}

}  // namespace

topology::Topology make_topology(const Options& options) {
  topology::Topology topology = make_shape(options.fabric);
  add_rails(options.fabric, topology);
  add_memories(options.fabric, topology);
  Random random(options.seed ^ 0x6661756c7473);
  const uint64_t only = random.below(topology.links.size());
  for (size_t i = 0; i < topology.links.size(); ++i) {
    if (!options.faults.steady_everywhere && i != only) continue;
    topology.links[i].forward = options.faults.steady;
    topology.links[i].backward = options.faults.steady;
  }
  return topology;
}

Script make_script(const Options& options, const topology::Topology& topology) {
  return ScriptMaker(options, topology).make();
}

}  // namespace heddle::vopr
