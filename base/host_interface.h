// HostInterface: a network interface of this host with its addresses, as plain data. The datapath
// reads them from the system (datapath/interfaces.h); what chooses among NICs takes them as input.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

// An address of an interface.
struct InterfaceAddress {
  std::array<uint8_t, 16> host{};  // IPv6, or IPv4 as ::ffff:a.b.c.d, in network order
  uint32_t scope = 0;              // IPv6 scope id of a link-local address, else 0
  uint32_t prefix_bits = 0;        // of its subnet: up to 32 for IPv4, up to 128 for IPv6
  std::string text;                // "10.0.0.1", "fd00::1", "fe80::1%2"

  // Whether it is valid on its own link only (fe80::/10).
  bool link_local() const { return host[0] == 0xfe && (host[1] & 0xc0) == 0x80; }
  bool ipv4() const {
    for (size_t i = 0; i < 10; ++i) {
      if (host[i] != 0) return false;
    }
    return host[10] == 0xff && host[11] == 0xff;
  }
};

struct HostInterface {
  std::string name;
  uint32_t index = 0;    // the kernel's
  bool up = false;       // enabled by the operator (IFF_UP)
  bool running = false;  // enabled and with a carrier (IFF_RUNNING)
  bool loopback = false;
  uint32_t mtu_bytes = 0;                   // 0: unknown
  std::vector<InterfaceAddress> addresses;  // in the system's order: IPv4 first
};

}  // namespace heddle
