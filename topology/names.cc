// See names.h.
#include "topology/names.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>
#include <vector>

namespace heddle::topology {
namespace {

uint32_t nics_of(const Topology& topology, uint32_t host) {
  uint32_t count = 0;
  for (const Nic& nic : topology.nics) count += nic.host == host ? 1 : 0;
  return count;
}

std::optional<Node> nic_of(const Topology& topology, std::string_view host_name, uint32_t number) {
  const auto host = find_host(topology, host_name);
  if (!host) return std::nullopt;
  for (uint32_t i = 0; i < topology.nics.size(); ++i) {
    if (topology.nics[i].host == *host && number-- == 0) return Node{NodeKind::kNic, i};
  }
  return std::nullopt;
}

// The neighbors of a node as text: "h0, h1, spine0, …".
std::string neighbours(const Topology& topology, const Node& node) {
  std::string text;
  for (const Link& link : topology.links) {
    if (link.a != node && link.b != node) continue;
    text += (text.empty() ? "" : ", ") + node_label(topology, link.a == node ? link.b : link.a);
  }
  return text.empty() ? "nothing" : text;
}

Unexpected no_node(const std::string& name) {
  return fail(ErrorCode::kInvalid, "cannot find the link",
              "there is no host or switch '" + name + "'",
              "use a name of the topology, like h0, leaf0, or h0.1 for its second NIC");
}

// The Levenshtein distance: letters to add, remove or replace.
size_t letters_between(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_switch(const Topology& topology, std::string_view name) {
  size_t least = name.size() / 2;
  std::string nearest;
  for (const Switch& each : topology.switches) {
    const size_t letters = letters_between(name, each.name);
    if (each.name == name || letters > least || (letters == least && !nearest.empty())) continue;
    least = letters;
    nearest = each.name;
  }
  return nearest;
}

std::optional<uint32_t> find_host(const Topology& topology, std::string_view name) {
  for (uint32_t i = 0; i < topology.hosts.size(); ++i) {
    if (topology.hosts[i].name == name) return i;
  }
  return std::nullopt;
}

std::optional<uint32_t> find_switch(const Topology& topology, std::string_view name) {
  for (uint32_t i = 0; i < topology.switches.size(); ++i) {
    if (topology.switches[i].name == name) return i;
  }
  return std::nullopt;
}

std::optional<Node> find_node(const Topology& topology, std::string_view name) {
  if (const auto found = find_switch(topology, name)) return Node{NodeKind::kSwitch, *found};
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return nic_of(topology, name, 0);
  uint32_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(name.data() + dot + 1, end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return nic_of(topology, name.substr(0, dot), number);
}

std::string node_label(const Topology& topology, const Node& node) {
  std::string label = node_name(topology, node);
  if (node.kind == NodeKind::kNic && nics_of(topology, topology.nics[node.index].host) > 1) {
    label += "." + std::to_string(nic_number(topology, node.index));
  }
  return label;
}

std::string link_label(const Topology& topology, uint32_t link) {
  const Link& it = topology.links[link];
  uint32_t number = 0;
  for (uint32_t i = 0; i < link; ++i) {
    const Link& other = topology.links[i];
    const bool same = (other.a == it.a && other.b == it.b) || (other.a == it.b && other.b == it.a);
    if (same) ++number;
  }
  std::string label = node_label(topology, it.a) + " - " + node_label(topology, it.b);
  if (number > 0) label += " #" + std::to_string(number);
  return label;
}

Result<LinkEnds> find_link(const Topology& topology, const std::string& from, const std::string& to,
                           uint32_t number) {
  const auto a = find_node(topology, from);
  if (!a) return no_node(from);
  const auto b = find_node(topology, to);
  if (!b) return no_node(to);
  uint32_t found = 0;
  for (uint32_t i = 0; i < topology.links.size(); ++i) {
    const Link& link = topology.links[i];
    const bool forward = link.a == *a && link.b == *b;
    if (!forward && !(link.a == *b && link.b == *a)) continue;
    if (found++ == number) return LinkEnds{i, forward};
  }
  const std::string which = number == 0 ? "no link" : "no link number " + std::to_string(number);
  return fail(ErrorCode::kInvalid, "cannot find the link",
              which + " between " + from + " and " + to,
              from + " reaches: " + neighbours(topology, *a));
}

}  // namespace heddle::topology
