// See layout.h.
#include "lab/layout.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "lab/params.h"

namespace heddle::lab {
namespace {

constexpr size_t kMaxPlaces = 256;     // one byte of an address
constexpr size_t kMaxDeviceName = 15;  // the kernel's limit

// The name of the device towards `peer`: the peer's own name if the kernel accepts it.
std::string device_towards(const Layout& layout, const Port& peer, uint32_t link,
                           std::set<std::string>& used) {
  const Place& place = layout.places[peer.place];
  std::string name = place.name;
  if (!place.is_switch && place.ports.size() > 1) {
    name += fmt::format(".{}", topology::nic_number(layout.topology, peer.nic));
  }
  for (int parallel = 1; used.contains(name); ++parallel) {
    name = fmt::format("{}.p{}", place.name, parallel);
  }
  if (name.size() > kMaxDeviceName || name == "lo" || name == "all" || name == "default") {
    name = fmt::format("port{}", link);
  }
  used.insert(name);
  return name;
}

uint32_t place_of(const topology::Topology& topology, const topology::Node& node) {
  if (node.kind == topology::NodeKind::kNic) return topology.nics[node.index].host;
  return static_cast<uint32_t>(topology.hosts.size()) + node.index;
}

Result<void> check_size(const topology::Topology& topology) {
  const std::string todo = "use fewer, or run it in the simulator";
  if (topology.hosts.size() > kMaxPlaces || topology.switches.size() > kMaxPlaces) {
    return fail(ErrorCode::kInvalid, "cannot make a lab of this topology",
                fmt::format("it has {} hosts and {} switches, {} of each are the most",
                            topology.hosts.size(), topology.switches.size(), kMaxPlaces),
                todo);
  }
  std::vector<uint32_t> nics(topology.hosts.size());
  for (const topology::Nic& nic : topology.nics) {
    if (++nics[nic.host] > params::kMostNics) {
      return fail(
          ErrorCode::kInvalid, "cannot make a lab of this topology",
          fmt::format("{} has more than {} NICs", topology.hosts[nic.host].name, params::kMostNics),
          todo);
    }
  }
  return {};
}

void add_places(Layout& layout) {
  const auto add = [&layout](const std::string& name, bool is_switch, uint32_t index) {
    layout.places.push_back(
        {name, fmt::format("heddle.{}.{}", layout.lab, name), is_switch, index, {}});
  };
  for (uint32_t i = 0; i < layout.topology.hosts.size(); ++i) {
    add(layout.topology.hosts[i].name, false, i);
  }
  for (uint32_t i = 0; i < layout.topology.switches.size(); ++i) {
    add(layout.topology.switches[i].name, true, i);
  }
}

void add_ports(Layout& layout) {
  const topology::Topology& topology = layout.topology;
  for (uint32_t link = 0; link < topology.links.size(); ++link) {
    for (const bool at_a : {true, false}) {
      const topology::Node& node = at_a ? topology.links[link].a : topology.links[link].b;
      const topology::Node& peer = at_a ? topology.links[link].b : topology.links[link].a;
      Port port;
      port.link = link;
      port.at_a = at_a;
      port.place = place_of(topology, node);
      port.peer_place = place_of(topology, peer);
      if (node.kind == topology::NodeKind::kNic) port.nic = node.index;
      const auto mac = [link](bool a) {
        return fmt::format("02:{}:{:02x}:{:02x}:{:02x}:01", a ? "0a" : "0b", link >> 16 & 0xff,
                           link >> 8 & 0xff, link & 0xff);
      };
      const auto address = [link](bool a) {
        return fmt::format("fe80::{:x}:{}", link + 1, a ? "a" : "b");
      };
      port.mac = mac(at_a);
      port.peer_mac = mac(!at_a);
      port.address = address(at_a);
      port.peer_address = address(!at_a);
      layout.ports.push_back(std::move(port));
    }
  }
}

void join_places(Layout& layout) {
  for (Place& place : layout.places) {
    if (place.is_switch) continue;
    for (uint32_t nic = 0; nic < layout.topology.nics.size(); ++nic) {
      if (layout.topology.nics[nic].host != place.index) continue;
      for (uint32_t i = 0; i < layout.ports.size(); ++i) {
        const topology::Link& link = layout.topology.links[i / 2];
        const topology::Node& node = i % 2 == 0 ? link.a : link.b;
        if (node == topology::Node{topology::NodeKind::kNic, nic}) place.ports.push_back(i);
      }
    }
  }
  for (uint32_t i = 0; i < layout.ports.size(); ++i) {
    Place& place = layout.places[layout.ports[i].place];
    if (place.is_switch) place.ports.push_back(i);
  }
}

void name_devices(Layout& layout) {
  for (Place& place : layout.places) {
    std::set<std::string> used;
    uint32_t number = 0;
    for (const uint32_t at : place.ports) {
      Port& port = layout.ports[at];
      port.device = place.is_switch ? device_towards(layout, layout.ports[at ^ 1], port.link, used)
                                    : fmt::format("nic{}", number++);
    }
  }
}

}  // namespace

Result<Layout> make_layout(const std::string& lab, topology::Topology topology) {
  if (Result<void> fits = check_size(topology); !fits) return fail(fits.error());
  Layout layout;
  layout.lab = lab;
  layout.topology = std::move(topology);
  add_places(layout);
  add_ports(layout);
  join_places(layout);
  name_devices(layout);
  return layout;
}

std::string nic_ipv4(const Layout& layout, uint32_t nic) {
  return fmt::format("10.{}.{}.1", topology::nic_number(layout.topology, nic),
                     layout.topology.nics[nic].host);
}

std::string nic_ipv6(const Layout& layout, uint32_t nic) {
  return fmt::format("fd00:{:x}:{:x}::1", topology::nic_number(layout.topology, nic),
                     layout.topology.nics[nic].host);
}

std::string switch_ipv4(uint32_t index) { return fmt::format("10.255.{}.1", index); }

std::string switch_ipv6(uint32_t index) { return fmt::format("fd00:ff:{:x}::1", index); }

std::string hosts_file(const Layout& layout) {
  std::string text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
  for (const Place& place : layout.places) {
    if (place.is_switch) {
      text += fmt::format("{} {}\n{} {}-v6\n", switch_ipv4(place.index), place.name,
                          switch_ipv6(place.index), place.name);
      continue;
    }
    for (size_t i = 0; i < place.ports.size(); ++i) {
      const uint32_t nic = layout.ports[place.ports[i]].nic;
      const std::string plain = i == 0 ? place.name + " " : "";
      const std::string plain6 = i == 0 ? place.name + "-v6 " : "";
      text += fmt::format("{} {}{}-nic{}\n", nic_ipv4(layout, nic), plain, place.name, i);
      text += fmt::format("{} {}{}-nic{}-v6\n", nic_ipv6(layout, nic), plain6, place.name, i);
    }
  }
  return text;
}

}  // namespace heddle::lab
