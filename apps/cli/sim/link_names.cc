// Names of links: see link_names.h.
#include "apps/cli/sim/link_names.h"

#include <algorithm>
#include <map>
#include <utility>

namespace heddle::cli {

using simulator::LinkId;
using simulator::NodeId;

LinkNames::LinkNames(const topology::Topology& topology) : topology_(topology) {
  std::vector<uint32_t> nics_of(topology.hosts.size());
  for (const topology::Nic& nic : topology.nics) nic_numbers_.push_back(nics_of[nic.host]++);
  for (size_t i = 0; i < topology.nics.size(); ++i) {
    if (nics_of[topology.nics[i].host] == 1) nic_numbers_[i] = UINT32_MAX;
  }
  std::map<std::pair<NodeId, NodeId>, uint32_t> between;
  for (const topology::Link& link : topology.links) {
    const NodeId a = simulator::node_id(topology, link.a);
    const NodeId b = simulator::node_id(topology, link.b);
    numbers_.push_back(between[std::minmax(a, b)]++);
  }
}

std::string LinkNames::label(const topology::Node& node) const {
  const std::string& name = node_name(topology_, node);
  if (node.kind == topology::NodeKind::kSwitch) return name;
  const uint32_t number = nic_numbers_[node.index];
  return number == UINT32_MAX ? name : name + "." + std::to_string(number);
}

std::string LinkNames::from(LinkId link) const {
  const topology::Link& it = topology_.links[link / 2];
  return label(link % 2 == 0 ? it.a : it.b);
}

std::string LinkNames::to(LinkId link) const {
  const topology::Link& it = topology_.links[link / 2];
  return label(link % 2 == 0 ? it.b : it.a);
}

std::string LinkNames::operator()(LinkId link) const {
  std::string name = from(link) + " -> " + to(link);
  if (number(link) > 0) name += " #" + std::to_string(number(link));
  return name;
}

}  // namespace heddle::cli
