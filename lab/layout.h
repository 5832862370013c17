// Layout: maps a topology to a lab: a network namespace for every host and switch, with its
// devices, addresses and names. A pure function of the topology and the lab's name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "topology/topology.h"

namespace heddle::lab {

// One end of a link, as a device in a namespace.
struct Port {
  uint32_t link = 0;
  bool at_a = true;    // this is end a of the link
  uint32_t place = 0;  // the namespace that it is in
  uint32_t peer_place = 0;
  uint32_t nic = 0;  // the NIC's index, if it is a host's
  std::string device;
  std::string mac;
  std::string address;       // link-local IPv6: next hop of routes of both families
  std::string peer_mac;      // static neighbors, so that faults on a link
  std::string peer_address;  // cannot drop neighbor discovery
};

// A host or a switch.
struct Place {
  std::string name;
  std::string netns;  // the namespace's name under /run/netns
  bool is_switch = false;
  uint32_t index = 0;           // into the topology's hosts or switches
  std::vector<uint32_t> ports;  // indexes into Layout::ports; a host's are its NICs in order
};

struct Layout {
  std::string lab;
  topology::Topology topology;
  std::vector<Place> places;  // hosts, then switches
  std::vector<Port> ports;    // 2 * link is end a of a link, 2 * link + 1 its end b

  const Port& a(uint32_t link) const { return ports[2 * link]; }
  const Port& b(uint32_t link) const { return ports[2 * link + 1]; }
  // Forward is the direction from a to b.
  const Port& sender(uint32_t link, bool forward) const { return forward ? a(link) : b(link); }
  const Port& receiver(uint32_t link, bool forward) const { return forward ? b(link) : a(link); }
};

// Errors: kInvalid for a topology that is too large for a lab: more than 256 hosts or switches, or
// a host with more than 64 NICs.
Result<Layout> make_layout(const std::string& lab, topology::Topology topology);

// 10.N.H.1 and fd00:N:H::1 for NIC N of host H.
std::string nic_ipv4(const Layout& layout, uint32_t nic);
std::string nic_ipv6(const Layout& layout, uint32_t nic);
// The source address of a switch's replies to traceroute: 10.255.S.1 and fd00:ff:S::1.
std::string switch_ipv4(uint32_t index);
std::string switch_ipv6(uint32_t index);

// The content of a file like /etc/hosts: "h3" and "h3-v6", "h3-nic1" for a second NIC, and the
// switches.
std::string hosts_file(const Layout& layout);

}  // namespace heddle::lab
