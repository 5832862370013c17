// Names: finds hosts, switches and links of a topology by name: "leaf0", "h3", or "h3.1" for one of
// several NICs. The reader of topology files and the lab's commands call it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/topology.h"

namespace heddle::topology {

std::optional<uint32_t> find_host(const Topology& topology, std::string_view name);
std::optional<uint32_t> find_switch(const Topology& topology, std::string_view name);
// The existing switch with the most similar name, by letters to add, remove or replace; empty if
// none is similar.
std::string nearest_switch(const Topology& topology, std::string_view name);
// Finds a switch, or the NIC "name.number"; a host's "name" alone is its NIC 0.
std::optional<Node> find_node(const Topology& topology, std::string_view name);
// "leaf0", or "h3", or "h3.1" for the second NIC of h3.
std::string node_label(const Topology& topology, const Node& node);
// "leaf0 - spine1"; parallel links are "leaf0 - spine1 #1".
std::string link_label(const Topology& topology, uint32_t link);

// A link as seen from the end that was named first.
struct LinkEnds {
  uint32_t link = 0;
  bool forward = true;  // the first name is end a
};

// The `number`-th (from 0) of the links between two nodes. Errors: kInvalid, listing what exists.
Result<LinkEnds> find_link(const Topology& topology, const std::string& from, const std::string& to,
                           uint32_t number = 0);

}  // namespace heddle::topology
