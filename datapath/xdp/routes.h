// RouteCache: how datagrams to a host leave through the interface of an XDP socket, from the
// kernel's tables. Entries live until the kernel reports a change, at most kRouteAge. Neighbors are
// never resolved here: a datagram without an entry takes the UDP socket, so the kernel resolves.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "base/nanos.h"
#include "datapath/xdp/frame.h"
#include "datapath/xdp/netlink.h"
#include "transport/address.h"

namespace heddle::datapath {

// The interface of an XDP socket as routes name it.
struct RouteInterface {
  uint32_t index = 0;        // that has the addresses: the VLAN interface where there is one
  transport::Address local;  // a wildcard: the route chooses the source
  MacAddress mac{};
  std::array<VlanTag, 2> tags{};
  uint8_t tag_count = 0;
  uint8_t traffic_class = 0;
};

class RouteCache {
 public:
  // `netlink` must outlive it.
  RouteCache(const Netlink& netlink, const RouteInterface& interface)
      : netlink_(netlink), interface_(interface) {}

  // The frame template for datagrams to `to`; null: they must leave through the kernel. Valid
  // until the next call.
  const FrameTemplate* find(const transport::Address& to, Nanos now);
  // Every entry is looked up again at its next use.
  void expire();

 private:
  struct Key {
    std::array<uint8_t, 16> host{};
    uint32_t scope = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Entry {
    Nanos until;
    bool direct = false;
    FrameTemplate frame;
  };

  void look_up(const transport::Address& to, Nanos now, Entry& entry) const;

  const Netlink& netlink_;
  RouteInterface interface_;
  std::unordered_map<Key, Entry, KeyHash> entries_;
  Nanos next_notifications_;
  Key last_key_;
  Entry* last_ = nullptr;  // of last_key_
};

}  // namespace heddle::datapath
