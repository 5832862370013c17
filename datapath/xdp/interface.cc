// See interface.h.
#include "datapath/xdp/interface.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/descriptor.h"
#include "datapath/interfaces.h"
#include "datapath/resolve.h"
#include "datapath/udp/socket_address.h"
#include "datapath/xdp/program.h"

namespace heddle::datapath {

using transport::Address;

namespace {

constexpr char kWhat[] = "cannot use AF_XDP";

// The queues in use, as the driver reports them; else the number that it has.
void count_queues(const LinkFacts& link, XdpInterface& found) {
  found.receive_queues = std::max(1u, link.receive_queues);
  found.transmit_queues = std::max(1u, link.transmit_queues);
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  ifreq request{};
  std::strncpy(request.ifr_name, link.name.c_str(), IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&channels);
  if (ioctl(socket.number(), SIOCETHTOOL, &request) != 0) return;
  const uint32_t in = channels.rx_count + channels.combined_count;
  const uint32_t out = channels.tx_count + channels.combined_count;
  if (in > 0) found.receive_queues = in;
  if (out > 0) found.transmit_queues = out;
}

bool has_address(const HostInterface& interface, const Address& local) {
  return std::any_of(interface.addresses.begin(), interface.addresses.end(),
                     [&](const InterfaceAddress& each) { return each.host == local.host; });
}

Result<HostInterface> choose(const Address& local) {
  std::vector<HostInterface> candidates;
  std::string names;
  for (HostInterface& each : host_interfaces()) {
    if (each.loopback || !each.up || each.addresses.empty()) continue;
    if (!is_any(local) && !has_address(each, local)) continue;
    names += (names.empty() ? "" : ", ") + each.name;
    candidates.push_back(std::move(each));
  }
  if (candidates.empty()) {
    return fail(ErrorCode::kUnavailable, kWhat,
                is_any(local) ? "no interface but loopback is up and has an address"
                              : "no interface but loopback has " + host_text(local),
                "name the interface towards the peers (bind)");
  }
  if (candidates.size() > 1) {
    return fail(ErrorCode::kInvalid, kWhat, "there are several interfaces: " + names,
                "name those to use (bind)");
  }
  return std::move(candidates.front());
}

// Follows VLAN interfaces down to the device.
Result<LinkFacts> find_device(const LinkFacts& addressed, const Netlink& netlink,
                              XdpInterface& found) {
  LinkFacts device = addressed;
  std::vector<VlanTag> tags;  // the inner one first
  while (device.lower != 0) {
    tags.push_back(device.tag);
    const std::optional<LinkFacts> below = netlink.link(device.lower);
    if (!below || tags.size() > kMaxTags) {
      return fail(ErrorCode::kUnavailable, kWhat,
                  "the device below the VLAN interface " + addressed.name + " cannot be used",
                  "use UDP on this interface");
    }
    device = *below;
  }
  found.tag_count = static_cast<uint8_t>(tags.size());
  std::copy(tags.rbegin(), tags.rend(), found.tags.begin());
  return device;
}

}  // namespace

Result<XdpInterface> find_xdp_interface(const Address& local, const Netlink& netlink) {
  const Result<HostInterface> chosen = choose(local);
  if (!chosen) return fail(chosen.error());
  const std::optional<LinkFacts> addressed = netlink.link(chosen->index);
  if (!addressed || !addressed->ethernet) {
    return fail(ErrorCode::kUnavailable, kWhat,
                chosen->name + (addressed ? " is not an Ethernet interface" : " has gone"),
                "use UDP on this interface");
  }
  XdpInterface found;
  const Result<LinkFacts> device = find_device(*addressed, netlink, found);
  if (!device) return fail(device.error());
  found.name = device->name;
  found.device = device->index;
  found.addressed = addressed->index;
  found.mac = addressed->mac;
  found.mtu_bytes = addressed->mtu_bytes;
  count_queues(*device, found);
  for (const InterfaceAddress& each : chosen->addresses) {
    const Address address{each.host, each.scope, local.port};
    if (!is_any(local) && address.host != local.host) continue;
    if (found.addresses.size() < kMaxProgramAddresses) found.addresses.push_back(address);
  }
  return found;
}

}  // namespace heddle::datapath
