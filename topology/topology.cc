// Checks on topologies, so that whoever builds from one need not ask again.
#include "topology/topology.h"

#include <string>

#include "base/check.h"

namespace heddle::topology {
namespace {

Unexpected invalid(const std::string& subject, const std::string& why) {
  return fail(ErrorCode::kInvalid, "topology: " + subject, why);
}

bool exists(const Topology& topology, const Node& node) {
  return node.index <
         (node.kind == NodeKind::kNic ? topology.nics.size() : topology.switches.size());
}

bool sane(const LinkFaults& faults) {
  constexpr uint32_t kAll = 1'000'000;
  return faults.loss_per_million <= kAll && faults.duplicate_per_million <= kAll &&
         faults.corrupt_header_per_million <= kAll && faults.corrupt_payload_per_million <= kAll &&
         faults.reorder_per_million <= kAll && faults.reorder_min.count >= 0 &&
         faults.reorder_min <= faults.reorder_max;
}

Result<void> validate_link(const Topology& topology, size_t index) {
  const Link& link = topology.links[index];
  const std::string name = "link " + std::to_string(index);
  if (!exists(topology, link.a) || !exists(topology, link.b)) {
    return invalid(name, "it leads to a node that does not exist");
  }
  if (link.a == link.b) return invalid(name, "it leads from a node to itself");
  if (link.shape.mtu_bytes < 576) return invalid(name, "its MTU is below 576");
  if (link.shape.queue.count < link.shape.mtu_bytes + 64u) {
    return invalid(name, "its queue does not hold one full packet");
  }
  if (link.shape.ecn_ramp_per_million > 1'000'000) {
    return invalid(name, "it marks more packets than there are");
  }
  if (link.shape.delay.count < 0) return invalid(name, "its delay is negative");
  if (!sane(link.forward) || !sane(link.backward)) return invalid(name, "its faults make no sense");
  return {};
}

}  // namespace

Result<void> validate(const Topology& topology) {
  std::vector<uint32_t> links_of_nic(topology.nics.size());
  for (size_t i = 0; i < topology.links.size(); ++i) {
    if (Result<void> result = validate_link(topology, i); !result) return result;
    for (const Node& end : {topology.links[i].a, topology.links[i].b}) {
      if (end.kind == NodeKind::kNic) ++links_of_nic[end.index];
    }
  }
  for (size_t i = 0; i < topology.nics.size(); ++i) {
    const std::string name = "NIC " + std::to_string(i);
    if (topology.nics[i].host >= topology.hosts.size()) {
      return invalid(name, "it is in a host that does not exist");
    }
    if (links_of_nic[i] != 1) {
      return invalid(name, "it has " + std::to_string(links_of_nic[i]) + " links instead of one");
    }
  }
  for (size_t i = 0; i < topology.changes.size(); ++i) {
    const LinkChange& change = topology.changes[i];
    if (change.link >= topology.links.size() || change.at.count < 0 || !sane(change.faults)) {
      return invalid("change " + std::to_string(i),
                     "its link does not exist, its time is negative or its faults make no sense");
    }
  }
  for (size_t i = 0; i < topology.host_changes.size(); ++i) {
    const HostChange& change = topology.host_changes[i];
    if (change.host >= topology.hosts.size() || change.at.count < 0) {
      return invalid("host change " + std::to_string(i),
                     "its host does not exist or its time is negative");
    }
  }
  return {};
}

const std::string& node_name(const Topology& topology, const Node& node) {
  CHECK(exists(topology, node));
  return node.kind == NodeKind::kSwitch ? topology.switches[node.index].name
                                        : topology.hosts[topology.nics[node.index].host].name;
}

uint32_t nic_number(const Topology& topology, uint32_t nic) {
  CHECK(nic < topology.nics.size());
  uint32_t number = 0;
  for (uint32_t i = 0; i < nic; ++i) {
    if (topology.nics[i].host == topology.nics[nic].host) ++number;
  }
  return number;
}

}  // namespace heddle::topology
