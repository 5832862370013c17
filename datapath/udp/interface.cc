// See interface.h.
#include "datapath/udp/interface.h"

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "datapath/resolve.h"
#include "datapath/udp/socket.h"
#include "datapath/udp/socket_address.h"

namespace heddle::datapath {

using transport::Address;

namespace {

constexpr uint32_t kEthernetMtu = 1500;

uint32_t mtu_of(const Socket& socket, const char* name) {
  ifreq request{};
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (ioctl(socket.descriptor(), SIOCGIFMTU, &request) != 0) return 0;
  return static_cast<uint32_t>(std::max(0, request.ifr_mtu));
}

bool ask_driver(const Socket& socket, const char* name, void* question) {
  ifreq request{};
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  request.ifr_data = static_cast<char*>(question);
  return ioctl(socket.descriptor(), SIOCETHTOOL, &request) == 0;
}

BitsPerSec rate_of(const Socket& socket, const char* name) {
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  if (ask_driver(socket, name, &driver) && std::string(driver.driver) == "veth") return {};
  ethtool_cmd link{};
  link.cmd = ETHTOOL_GSET;
  if (!ask_driver(socket, name, &link)) return {};
  const uint32_t megabits = ethtool_cmd_speed(&link);
  return megabits == static_cast<uint32_t>(SPEED_UNKNOWN) ? BitsPerSec{} : megabits_per_s(megabits);
}

bool of_one_link(const Address& address) {
  return address.host[0] == 0xfe && (address.host[1] & 0xc0) == 0x80;
}

}  // namespace

uint32_t interface_mtu(const Address& local) {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return kEthernetMtu;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> found(raw, &freeifaddrs);
  // any socket type allows these requests
  const Socket socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const bool any = is_any(local);
  uint32_t best = 0;
  uint32_t loopback = 0;
  for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
    if ((entry->ifa_flags & IFF_UP) == 0 || entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const uint32_t mtu = mtu_of(socket, entry->ifa_name);
    if ((entry->ifa_flags & IFF_LOOPBACK) != 0) {
      // loopback accepts more addresses than getifaddrs() lists
      loopback = std::max(loopback, mtu);
    } else if (any) {
      best = std::max(best, mtu);
    } else if (from_socket_address(entry->ifa_addr).host == local.host) {
      best = mtu;
    }
  }
  if (best == 0) best = loopback;
  return best == 0 ? kEthernetMtu : best;
}

NicFacts interface_facts(const Address& local) {
  NicFacts facts;
  ifaddrs* raw = nullptr;
  if (is_any(local) || getifaddrs(&raw) != 0) return facts;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> found(raw, &freeifaddrs);
  for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    if (from_socket_address(entry->ifa_addr).host != local.host) continue;
    const Socket socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    facts.device = entry->ifa_name;
    facts.rate = rate_of(socket, entry->ifa_name);
    break;
  }
  return facts;
}

BitsPerSec host_link_rate(const Address& local) { return interface_facts(local).rate; }

Result<Address> local_address(const std::string& name, uint16_t port) {
  if (name.empty() || name.size() >= IFNAMSIZ || if_nametoindex(name.c_str()) == 0) {
    return resolve(name, port);
  }
  ifaddrs* raw = nullptr;
  const bool asked = getifaddrs(&raw) == 0;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> found(raw, &freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = asked ? raw : nullptr; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family) continue;
      if (name != entry->ifa_name) continue;
      Address address = from_socket_address(entry->ifa_addr);
      if (of_one_link(address)) continue;
      address.port = port;
      return address;
    }
  }
  return fail(ErrorCode::kUnavailable, "cannot use the interface '" + name + "'",
              "it has no address", "`ip address show " + name + "` shows what it has");
}

std::vector<Address> host_addresses(uint16_t port) {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> found(raw, &freeifaddrs);
  std::vector<Address> outside;
  std::vector<Address> loopback;
  for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
    if ((entry->ifa_flags & IFF_UP) == 0 || entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    Address address = from_socket_address(entry->ifa_addr);
    if (of_one_link(address)) continue;
    address.port = port;
    ((entry->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : outside).push_back(address);
  }
  outside.insert(outside.end(), loopback.begin(), loopback.end());
  return outside;
}

}  // namespace heddle::datapath
