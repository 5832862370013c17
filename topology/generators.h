// Topologies that are made from a few numbers. Every host has one NIC with the host's index.
#pragma once

#include <cstdint>

#include "topology/topology.h"

namespace heddle::topology {

// Two hosts and a cable (link 0, host 0 is its end a).
Topology point_to_point(const LinkShape& shape);

// Two hosts behind a switch each, and `paths` parallel cables between the switches: links 0 and 1
// are the hosts' (host at end a), link 2 + i is path i (switch 0 at end a).
Topology parallel_paths(uint32_t paths, const LinkShape& host_link, const LinkShape& path_link);

struct LeafSpineShape {
  uint32_t leaves = 2;
  uint32_t spines = 2;
  uint32_t hosts_per_leaf = 2;
  LinkShape host_link;
  LinkShape spine_link;
  uint64_t hash_seed = 1;  // every switch gets a seed of its own from it
};

// Switches 0 to leaves - 1 are the leaves, the rest the spines. Link h is host h's (host at end a),
// on leaf h / hosts_per_leaf; then come the links of leaf 0 to each spine (leaf at end a), of leaf
// 1, and so on.
Topology leaf_spine(const LeafSpineShape& shape);

// Index of the link between a leaf and a spine of leaf_spine().
uint32_t leaf_spine_link(const LeafSpineShape& shape, uint32_t leaf, uint32_t spine);

}  // namespace heddle::topology
