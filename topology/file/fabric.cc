// See fabric.h.
#include "topology/file/fabric.h"

#include <string>

#include "topology/generators.h"
#include "topology/params.h"

namespace heddle::topology {
namespace {

struct Parts {
  TableReader& table;

  uint32_t operator()(std::string_view key, uint32_t usual) {
    return static_cast<uint32_t>(table.integer(key, usual, 1, params::file::kMaxPart));
  }
};

bool too_large(TableReader& table, uint64_t nodes, uint64_t links) {
  if (nodes <= params::file::kMaxNodes && links <= 10 * params::file::kMaxNodes) return false;
  table.wrong("kind",
              "the fabric has " + std::to_string(nodes) + " hosts and switches and " +
                  std::to_string(links) + " links",
              "make it smaller: at most 100000 and 1000000");
  return true;
}

Topology read_leaf_spine(TableReader& table, const FabricLinks& links) {
  Parts part{table};
  LeafSpineShape shape;
  shape.leaves = part("leaves", shape.leaves);
  shape.spines = part("spines", shape.spines);
  shape.hosts_per_leaf = part("hosts_per_leaf", shape.hosts_per_leaf);
  shape.nics_per_host = part("nics_per_host", 1);
  shape.bundle = part("bundle", 1);
  shape.rails = table.boolean("rails", false);
  shape.hash_seed = table.integer("hash_seed", 1, 0, INT64_MAX);
  shape.host_link = links.host.shape;
  shape.spine_link = links.between_switches.shape;
  if (shape.rails && shape.leaves % shape.nics_per_host != 0) {
    table.wrong("rails", "the leaves are no multiple of 'nics_per_host'",
                "with rails every NIC of a host has a leaf of its own");
    return {};
  }
  const uint64_t leaves_a_group = shape.rails ? shape.nics_per_host : 1;
  const uint64_t hosts = shape.leaves / leaves_a_group * shape.hosts_per_leaf;
  if (too_large(
          table, hosts + shape.leaves + shape.spines,
          hosts * shape.nics_per_host + uint64_t{shape.leaves} * shape.spines * shape.bundle)) {
    return {};
  }
  return leaf_spine(shape);
}

Topology read_fat_tree(TableReader& table, const FabricLinks& links) {
  Parts part{table};
  FatTreeShape shape;
  shape.pods = part("pods", shape.pods);
  shape.leaves_per_pod = part("leaves_per_pod", shape.leaves_per_pod);
  shape.spines_per_pod = part("spines_per_pod", shape.spines_per_pod);
  shape.cores_per_spine = part("cores_per_spine", shape.cores_per_spine);
  shape.hosts_per_leaf = part("hosts_per_leaf", shape.hosts_per_leaf);
  shape.nics_per_host = part("nics_per_host", 1);
  shape.leaf_bundle = part("leaf_bundle", 1);
  shape.core_bundle = part("core_bundle", 1);
  shape.hash_seed = table.integer("hash_seed", 1, 0, INT64_MAX);
  shape.host_link = links.host.shape;
  shape.switch_link = links.between_switches.shape;
  shape.core_link = links.core.shape;
  const uint64_t leaves = uint64_t{shape.pods} * shape.leaves_per_pod;
  const uint64_t spines = uint64_t{shape.pods} * shape.spines_per_pod;
  const uint64_t cores = uint64_t{shape.spines_per_pod} * shape.cores_per_spine;
  const uint64_t cables = leaves * shape.hosts_per_leaf * shape.nics_per_host +
                          leaves * shape.spines_per_pod * shape.leaf_bundle +
                          spines * shape.cores_per_spine * shape.core_bundle;
  if (too_large(table, leaves * (1 + shape.hosts_per_leaf) + spines + cores, cables)) return {};
  return fat_tree(shape);
}

}  // namespace

Topology read_fabric(TableReader& table, const FabricLinks& links) {
  const std::string todo = "give \"point_to_point\", \"leaf_spine\" or \"fat_tree\"";
  table.need("kind", todo);
  const std::string kind = table.text("kind", "point_to_point");
  Topology topology;
  if (kind == "point_to_point") {
    topology = point_to_point(links.host.shape);
  } else if (kind == "leaf_spine") {
    topology = read_leaf_spine(table, links);
  } else if (kind == "fat_tree") {
    topology = read_fat_tree(table, links);
  } else {
    table.wrong("kind", "there is no fabric \"" + kind + "\"", todo);
  }
  for (Link& link : topology.links) {
    const bool host = link.a.kind == NodeKind::kNic || link.b.kind == NodeKind::kNic;
    const bool core = kind == "fat_tree" && node_name(topology, link.b).starts_with("core");
    const LinkSettings& of_core = core ? links.core : links.between_switches;
    link.forward = link.backward = (host ? links.host : of_core).faults;
  }
  return topology;
}

}  // namespace heddle::topology
