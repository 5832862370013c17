// Netlink: questions to the kernel's routing, neighbor and interface tables (rtnetlink(7)), and
// notifications of their changes. RouteCache and the code that opens the datapath ask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "datapath/xdp/frame.h"
#include "transport/address.h"

namespace heddle::datapath {

struct LinkFacts {
  std::string name;
  uint32_t index = 0;
  bool up = false;
  bool ethernet = false;
  MacAddress mac{};
  uint32_t mtu_bytes = 0;
  uint32_t receive_queues = 1;  // that the driver has; it may use fewer
  uint32_t transmit_queues = 1;
  uint32_t lower = 0;    // VLAN interface: the interface below; 0: it is none
  VlanTag tag;           // VLAN interface
  uint32_t program = 0;  // id of an attached XDP program; 0: none
};

// The kernel's choice for a packet.
struct RouteFacts {
  bool unicast = false;      // to another host; false: local, multicast, no route, …
  bool one_next_hop = true;  // false: the kernel would choose among several by its hash
  uint32_t interface = 0;
  transport::Address next;  // the gateway, or the destination itself
  transport::Address from;  // the source address that it prefers
};

struct NeighborFacts {
  bool resolved = false;  // its MAC address may be used
  bool stale = false;     // resolved, but the kernel would verify it when it sends to it
  MacAddress mac{};
};

class Netlink {
 public:
  // Opens both sockets in the calling thread's network namespace. Errors: kSystem, kExhausted.
  Result<void> open();

  std::optional<LinkFacts> link(uint32_t index) const;
  // The route from `from` (a wildcard: any source) to `to`; empty: none.
  std::optional<RouteFacts> route(const transport::Address& from, const transport::Address& to,
                                  uint8_t traffic_class) const;
  NeighborFacts neighbor(uint32_t interface, const transport::Address& address) const;

  // True if routes, addresses, interfaces or neighbors have changed since the last call, or may
  // have. Does not block.
  bool changed() const;

 private:
  class Request;

  bool ask(Request& request) const;

  Descriptor requests_;
  Descriptor notifications_;
  mutable std::vector<std::byte> reply_;
  mutable size_t reply_bytes_ = 0;
  mutable uint32_t number_ = 0;
};

}  // namespace heddle::datapath
