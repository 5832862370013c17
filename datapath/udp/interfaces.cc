// See datapath/interfaces.h.
#include "datapath/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>

#include "datapath/resolve.h"
#include "datapath/udp/socket.h"
#include "datapath/udp/socket_address.h"

namespace heddle::datapath {
namespace {

uint32_t mtu_of(const Socket& socket, const std::string& name) {
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  if (ioctl(socket.descriptor(), SIOCGIFMTU, &request) != 0) return 0;
  return static_cast<uint32_t>(std::max(0, request.ifr_mtu));
}

uint32_t prefix_bits(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  if (mask->sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, mask, sizeof four);
    return static_cast<uint32_t>(std::popcount(four.sin_addr.s_addr));
  }
  sockaddr_in6 six{};
  std::memcpy(&six, mask, sizeof six);
  uint32_t bits = 0;
  for (const uint8_t each : six.sin6_addr.s6_addr) {
    bits += static_cast<uint32_t>(std::popcount(each));
  }
  return bits;
}

InterfaceAddress address_of(const ifaddrs& entry) {
  const transport::Address address = from_socket_address(entry.ifa_addr);
  InterfaceAddress result;
  result.host = address.host;
  result.scope = address.scope;
  result.prefix_bits = prefix_bits(entry.ifa_netmask);
  result.text = host_text(address);
  return result;
}

}  // namespace

std::vector<HostInterface> host_interfaces() {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> found(raw, &freeifaddrs);
  // any socket type allows the request for the MTU
  const Socket socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::map<uint32_t, HostInterface> by_index;
  for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
    std::string name = entry->ifa_name;
    name.resize(std::min(name.find(':'), name.size()));  // a label
    const uint32_t index = if_nametoindex(name.c_str());
    if (index == 0) continue;  // it has gone meanwhile
    HostInterface& interface = by_index[index];
    if (interface.index == 0) {
      interface.name = name;
      interface.index = index;
      interface.up = (entry->ifa_flags & IFF_UP) != 0;
      interface.running = (entry->ifa_flags & IFF_RUNNING) != 0;
      interface.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
      interface.mtu_bytes = mtu_of(socket, name);
    }
    const int family = entry->ifa_addr == nullptr ? AF_UNSPEC : entry->ifa_addr->sa_family;
    if (family == AF_INET || family == AF_INET6) interface.addresses.push_back(address_of(*entry));
  }
  std::vector<HostInterface> interfaces;
  for (auto& [index, interface] : by_index) interfaces.push_back(std::move(interface));
  return interfaces;
}

}  // namespace heddle::datapath
