// Generators of topologies. Hosts are named h0, h1, …, switches leaf0, spine0, core0, …
#pragma once

#include <cstdint>

#include "topology/topology.h"

namespace heddle::topology {

// Two hosts and a cable (link 0; host 0 is at end a).
Topology point_to_point(const LinkShape& shape);

// Two hosts with a switch each, and `paths` parallel cables between the switches: links 0 and 1 are
// the hosts' (host at end a), link 2 + i is path i (switch 0 at end a).
Topology parallel_paths(uint32_t paths, const LinkShape& host_link, const LinkShape& path_link);

struct LeafSpineShape {
  uint32_t leaves = 2;
  uint32_t spines = 2;
  uint32_t hosts_per_leaf = 2;
  LinkShape host_link;
  LinkShape spine_link;
  uint64_t hash_seed = 1;  // each switch's own seed is derived from it
  uint32_t nics_per_host = 1;
  bool rails = false;   // a host's NICs are on different leaves: NIC i of all hosts on the same one
  uint32_t bundle = 1;  // cables between a leaf and a spine
};

// Switches 0 to leaves - 1 are the leaves, the rest the spines. NIC i of host h has index h *
// nics_per_host + i. Link n is NIC n's (NIC at end a), on leaf h / hosts_per_leaf; then come the
// links of leaf 0 to each spine (leaf at end a; those of a bundle are consecutive), of leaf 1, and
// so on. With rails, the number of leaves is a multiple of nics_per_host, and host h's NIC i is on
// leaf h / (hosts_per_leaf) * nics_per_host + i.
Topology leaf_spine(const LeafSpineShape& shape);

// Index of the (first) link between a leaf and a spine of leaf_spine().
uint32_t leaf_spine_link(const LeafSpineShape& shape, uint32_t leaf, uint32_t spine);

struct FatTreeShape {
  uint32_t pods = 4;
  uint32_t leaves_per_pod = 2;
  uint32_t spines_per_pod = 2;
  uint32_t cores_per_spine = 2;
  uint32_t hosts_per_leaf = 2;
  LinkShape host_link;
  LinkShape switch_link;   // between leaves and spines
  LinkShape core_link;     // between spines and cores
  uint64_t hash_seed = 1;  // each switch's own seed is derived from it
  uint32_t nics_per_host = 1;
  uint32_t leaf_bundle = 1;  // cables between a leaf and a spine
  uint32_t core_bundle = 1;  // cables between a spine and a core
};

// Three tiers (Al-Fares et al., SIGCOMM 2008): each leaf of a pod has links to all spines of the
// pod; spine i of every pod has links to the same cores_per_spine cores. Switches are numbered
// leaves first, then spines, then cores. Link n is NIC n's (NIC at end a) on leaf n /
// (hosts_per_leaf * nics_per_host); then come the links of each leaf to its spines, then of each
// spine to its cores, always with the lower tier at end a; those of a bundle are consecutive.
Topology fat_tree(const FatTreeShape& shape);

}  // namespace heddle::topology
