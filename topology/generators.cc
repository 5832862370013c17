// Generators of topologies; the numbering of links is part of their contract.
#include "topology/generators.h"

#include <string>

#include "base/check.h"
#include "base/random.h"

namespace heddle::topology {
namespace {

Node nic(uint32_t index) { return {NodeKind::kNic, index}; }
Node switch_node(uint32_t index) { return {NodeKind::kSwitch, index}; }

void add_hosts(Topology& topology, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    topology.hosts.push_back({"host" + std::to_string(i)});
    topology.nics.push_back({i});
  }
}

}  // namespace

Topology point_to_point(const LinkShape& shape) {
  Topology topology;
  add_hosts(topology, 2);
  topology.links.push_back({nic(0), nic(1), shape, {}, {}});
  return topology;
}

Topology parallel_paths(uint32_t paths, const LinkShape& host_link, const LinkShape& path_link) {
  CHECK(paths > 0);
  Topology topology;
  add_hosts(topology, 2);
  topology.switches = {{"left", 1}, {"right", 2}};
  for (uint32_t i = 0; i < 2; ++i) {
    topology.links.push_back({nic(i), switch_node(i), host_link, {}, {}});
  }
  for (uint32_t i = 0; i < paths; ++i) {
    topology.links.push_back({switch_node(0), switch_node(1), path_link, {}, {}});
  }
  return topology;
}

Topology leaf_spine(const LeafSpineShape& shape) {
  CHECK(shape.leaves > 0 && shape.spines > 0 && shape.hosts_per_leaf > 0);
  Topology topology;
  Random seeds(shape.hash_seed);
  for (uint32_t i = 0; i < shape.leaves; ++i) {
    topology.switches.push_back({"leaf" + std::to_string(i), seeds.next()});
  }
  for (uint32_t i = 0; i < shape.spines; ++i) {
    topology.switches.push_back({"spine" + std::to_string(i), seeds.next()});
  }
  const uint32_t hosts = shape.leaves * shape.hosts_per_leaf;
  add_hosts(topology, hosts);
  for (uint32_t h = 0; h < hosts; ++h) {
    const Node leaf = switch_node(h / shape.hosts_per_leaf);
    topology.links.push_back({nic(h), leaf, shape.host_link, {}, {}});
  }
  for (uint32_t leaf = 0; leaf < shape.leaves; ++leaf) {
    for (uint32_t spine = 0; spine < shape.spines; ++spine) {
      const Node to = switch_node(shape.leaves + spine);
      topology.links.push_back({switch_node(leaf), to, shape.spine_link, {}, {}});
    }
  }
  return topology;
}

uint32_t leaf_spine_link(const LeafSpineShape& shape, uint32_t leaf, uint32_t spine) {
  CHECK(leaf < shape.leaves && spine < shape.spines);
  return shape.leaves * shape.hosts_per_leaf + leaf * shape.spines + spine;
}

}  // namespace heddle::topology
