// See generators.h. The numbering of links is part of the generators' contract.
#include "topology/generators.h"

#include <string>

#include "base/check.h"
#include "base/random.h"

namespace heddle::topology {
namespace {

Node nic(uint32_t index) { return {NodeKind::kNic, index}; }
Node switch_node(uint32_t index) { return {NodeKind::kSwitch, index}; }

void add_hosts(Topology& topology, uint32_t count, uint32_t nics_per_host = 1) {
  for (uint32_t i = 0; i < count; ++i) {
    topology.hosts.push_back({"h" + std::to_string(i)});
    for (uint32_t n = 0; n < nics_per_host; ++n) topology.nics.push_back({i});
  }
}

void add_switches(Topology& topology, const std::string& tier, uint32_t count, Random& seeds) {
  for (uint32_t i = 0; i < count; ++i) {
    topology.switches.push_back({tier + std::to_string(i), seeds.next()});
  }
}

void add_link(Topology& topology, Node a, Node b, const LinkShape& shape, uint32_t bundle = 1) {
  for (uint32_t i = 0; i < bundle; ++i) topology.links.push_back({a, b, shape, {}, {}});
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
  const uint32_t nics = shape.nics_per_host;
  const uint32_t leaves_a_group = shape.rails ? nics : 1;
  CHECK(nics > 0 && shape.leaves % leaves_a_group == 0 && shape.bundle > 0);
  Topology topology;
  Random seeds(shape.hash_seed);
  add_switches(topology, "leaf", shape.leaves, seeds);
  add_switches(topology, "spine", shape.spines, seeds);
  const uint32_t hosts = shape.leaves / leaves_a_group * shape.hosts_per_leaf;
  add_hosts(topology, hosts, nics);
  for (uint32_t h = 0; h < hosts; ++h) {
    for (uint32_t i = 0; i < nics; ++i) {
      const uint32_t leaf = h / shape.hosts_per_leaf * leaves_a_group + (shape.rails ? i : 0);
      add_link(topology, nic(h * nics + i), switch_node(leaf), shape.host_link);
    }
  }
  for (uint32_t leaf = 0; leaf < shape.leaves; ++leaf) {
    for (uint32_t spine = 0; spine < shape.spines; ++spine) {
      add_link(topology, switch_node(leaf), switch_node(shape.leaves + spine), shape.spine_link,
               shape.bundle);
    }
  }
  return topology;
}

uint32_t leaf_spine_link(const LeafSpineShape& shape, uint32_t leaf, uint32_t spine) {
  CHECK(leaf < shape.leaves && spine < shape.spines);
  const uint32_t leaves_a_group = shape.rails ? shape.nics_per_host : 1;
  const uint32_t hosts = shape.leaves / leaves_a_group * shape.hosts_per_leaf;
  return hosts * shape.nics_per_host + (leaf * shape.spines + spine) * shape.bundle;
}

Topology fat_tree(const FatTreeShape& shape) {
  CHECK(shape.pods > 0 && shape.leaves_per_pod > 0 && shape.spines_per_pod > 0);
  CHECK(shape.cores_per_spine > 0 && shape.hosts_per_leaf > 0 && shape.nics_per_host > 0);
  CHECK(shape.leaf_bundle > 0 && shape.core_bundle > 0);
  const uint32_t leaves = shape.pods * shape.leaves_per_pod;
  const uint32_t spines = shape.pods * shape.spines_per_pod;
  Topology topology;
  Random seeds(shape.hash_seed);
  add_switches(topology, "leaf", leaves, seeds);
  add_switches(topology, "spine", spines, seeds);
  add_switches(topology, "core", shape.spines_per_pod * shape.cores_per_spine, seeds);
  add_hosts(topology, leaves * shape.hosts_per_leaf, shape.nics_per_host);
  for (uint32_t n = 0; n < topology.nics.size(); ++n) {
    const uint32_t leaf = n / (shape.hosts_per_leaf * shape.nics_per_host);
    add_link(topology, nic(n), switch_node(leaf), shape.host_link);
  }
  for (uint32_t leaf = 0; leaf < leaves; ++leaf) {
    for (uint32_t i = 0; i < shape.spines_per_pod; ++i) {
      const uint32_t spine = leaf / shape.leaves_per_pod * shape.spines_per_pod + i;
      add_link(topology, switch_node(leaf), switch_node(leaves + spine), shape.switch_link,
               shape.leaf_bundle);
    }
  }
  for (uint32_t spine = 0; spine < spines; ++spine) {
    for (uint32_t i = 0; i < shape.cores_per_spine; ++i) {
      const uint32_t core = spine % shape.spines_per_pod * shape.cores_per_spine + i;
      add_link(topology, switch_node(leaves + spine), switch_node(leaves + spines + core),
               shape.core_link, shape.core_bundle);
    }
  }
  return topology;
}

}  // namespace heddle::topology
