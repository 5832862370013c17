// See batches.h. Routes of both families name the next hop by its link-local IPv6 address (RFC
// 5549), so links between switches need no addresses of their own.
#include "lab/batches.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/delays.h"

namespace heddle::lab {
namespace {

constexpr uint32_t kFirstTable = 100;  // first routing table of a host's NICs

std::string hop(const Port& port) {
  return fmt::format("via inet6 {} dev {}", port.peer_address, port.device);
}

std::string hop6(const Port& port) {
  return fmt::format("via {} dev {}", port.peer_address, port.device);
}

std::string route_to(const std::string& target, const std::string& target6,
                     const std::vector<const Port*>& ports) {
  if (ports.empty()) {
    return fmt::format("route replace unreachable {}\nroute replace unreachable {}\n", target,
                       target6);
  }
  std::string line = "route replace " + target;
  std::string line6 = "route replace " + target6;
  for (const Port* port : ports) {
    const char* const word = ports.size() > 1 ? " nexthop " : " ";
    line += word + hop(*port);
    line6 += word + hop6(*port);
  }
  return line + "\n" + line6 + "\n";
}

}  // namespace

std::string namespace_batch(const Layout& layout) {
  std::string text;
  for (const Place& place : layout.places) text += fmt::format("netns add {}\n", place.netns);
  if (const std::string middle = delay_netns(layout); !middle.empty()) {
    text += fmt::format("netns add {}\n", middle);
  }
  return text;
}

std::string cable_batch(const Layout& layout) {
  std::string text;
  const std::string middle = delay_netns(layout);
  for (uint32_t link = 0; link < layout.topology.links.size(); ++link) {
    const uint32_t mtu = layout.topology.links[link].shape.mtu_bytes;
    const auto end = [&](const Port& port) {
      return fmt::format("name {} netns {} mtu {} address {}", port.device,
                         layout.places[port.place].netns, mtu, port.mac);
    };
    if (!is_delayed(layout.topology.links[link])) {
      text +=
          fmt::format("link add {} type veth peer {}\n", end(layout.a(link)), end(layout.b(link)));
      continue;
    }
    for (const bool at_a : {true, false}) {
      text += fmt::format("link add {} type veth peer name {} netns {} mtu {}\n",
                          end(at_a ? layout.a(link) : layout.b(link)), delay_device(link, at_a),
                          middle, mtu);
    }
  }
  return text;
}

std::string port_batch(const Layout& layout, const Port& port) {
  std::string text = fmt::format(
      "link set dev {} addrgenmode none\n"
      "address replace {}/64 dev {} nodad\n"
      "link set dev {} up\n"
      "neighbour replace {} lladdr {} dev {} nud permanent\n",
      port.device, port.address, port.device, port.device, port.peer_address, port.peer_mac,
      port.device);
  if (layout.places[port.place].is_switch) return text;
  return text + fmt::format(
                    "address replace {}/16 dev {} noprefixroute\n"
                    "address replace {}/32 dev {} nodad noprefixroute\n",
                    nic_ipv4(layout, port.nic), port.device, nic_ipv6(layout, port.nic),
                    port.device);
}

std::string address_batch(const Layout& layout, const Place& place) {
  std::string text = "link set dev lo up\n";
  if (place.is_switch) {
    text += fmt::format("address replace {}/32 dev lo\naddress replace {}/128 dev lo nodad\n",
                        switch_ipv4(place.index), switch_ipv6(place.index));
  }
  for (const uint32_t at : place.ports) text += port_batch(layout, layout.ports[at]);
  return text;
}

// NIC i reaches NIC i of other hosts. Packets with a NIC's source address leave through that NIC,
// all others through the first.
std::string host_route_batch(const Layout& layout, const Place& place) {
  std::string text;
  for (uint32_t i = 0; i < place.ports.size(); ++i) {
    const Port& port = layout.ports[place.ports[i]];
    const std::string ipv4 = nic_ipv4(layout, port.nic);
    const std::string ipv6 = nic_ipv6(layout, port.nic);
    text += fmt::format("route replace 10.{}.0.0/16 {} src {}\n", i, hop(port), ipv4);
    text += fmt::format("route replace fd00:{:x}::/32 {} src {}\n", i, hop6(port), ipv6);
    if (i == 0) {
      text += fmt::format("route replace 0.0.0.0/0 {} src {}\n", hop(port), ipv4);
      text += fmt::format("route replace ::/0 {} src {}\n", hop6(port), ipv6);
    }
    if (place.ports.size() == 1) continue;
    const uint32_t table = kFirstTable + i;
    text += fmt::format("route replace 0.0.0.0/0 {} table {}\n", hop(port), table);
    text += fmt::format("route replace ::/0 {} table {}\n", hop6(port), table);
  }
  return text;
}

std::string host_rule_batch(const Layout& layout, const Place& place, bool ipv6) {
  std::string text;
  if (place.ports.size() == 1) return text;
  for (uint32_t i = 0; i < place.ports.size(); ++i) {
    const uint32_t nic = layout.ports[place.ports[i]].nic;
    const std::string address = ipv6 ? nic_ipv6(layout, nic) : nic_ipv4(layout, nic);
    text += fmt::format("rule add from {} lookup {} priority {}\n", address, kFirstTable + i,
                        kFirstTable + i);
  }
  return text;
}

std::string switch_route_batch(const Layout& layout, uint32_t place, const NextHops& hops) {
  std::string text;
  for (uint32_t nic = 0; nic < hops[place].size(); ++nic) {
    std::vector<const Port*> ports;
    for (const uint32_t at : hops[place][nic]) ports.push_back(&layout.ports[at]);
    text += route_to(nic_ipv4(layout, nic) + "/32", nic_ipv6(layout, nic) + "/128", ports);
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> sysctls(const Layout& layout, const Place& place) {
  std::vector<std::pair<std::string, std::string>> list = {
      {"ipv6/conf/all/disable_ipv6", "0"}, {"ipv6/conf/default/disable_ipv6", "0"},
      {"ipv4/conf/all/rp_filter", "0"},    {"ipv4/conf/default/rp_filter", "0"},
      {"ipv6/conf/all/accept_ra", "0"},    {"ipv6/conf/default/accept_ra", "0"},
  };
  for (const uint32_t at : place.ports) {
    const std::string& device = layout.ports[at].device;
    list.emplace_back("ipv4/conf/" + device + "/rp_filter", "0");
    list.emplace_back("ipv6/conf/" + device + "/disable_ipv6", "0");
    list.emplace_back("ipv6/conf/" + device + "/router_solicitations", "0");
  }
  if (!place.is_switch) return list;
  list.emplace_back("ipv4/ip_forward", "1");
  list.emplace_back("ipv6/conf/all/forwarding", "1");
  for (const char* const family : {"ipv4", "ipv6"}) {
    // Policy 3 hashes the packet's own fields, as a switch does; policy 1 may reuse a socket's
    // hash.
    list.emplace_back(fmt::format("{}/fib_multipath_hash_policy", family), "3");
    // Bits for addresses, protocol and ports.
    list.emplace_back(fmt::format("{}/fib_multipath_hash_fields", family), "55");
  }
  // A switch replies to every probe: no rate limit for each peer, and none over all peers, which
  // applies only to the types in the masks.
  list.emplace_back("ipv4/icmp_ratelimit", "0");
  list.emplace_back("ipv4/icmp_ratemask", "0");
  list.emplace_back("ipv6/icmp/ratelimit", "0");
  list.emplace_back("ipv6/icmp/ratemask", "255");
  return list;
}

uint32_t ecmp_seed(const Layout& layout, const Place& place) {
  const uint64_t seed = layout.topology.switches[place.index].hash_seed;
  const auto folded = static_cast<uint32_t>(seed ^ seed >> 32);
  return folded == 0 ? 1 : folded;
}

}  // namespace heddle::lab
