// UdHandles: address handles of peers' hosts, one for each path and ECN mark, made when first used.
// A path has a flow label of its own: NICs that derive the UDP source port of their packets from it
// give each path a route of its own.
#pragma once

#include <compare>
#include <cstdint>
#include <map>

#include "datapath/verbs/device.h"
#include "transport/address.h"

struct ibv_ah;

namespace heddle::datapath {

class UdHandles {
 public:
  UdHandles(VerbsDevice& device, uint8_t traffic_class)
      : device_(device), traffic_class_(traffic_class) {}
  ~UdHandles() { clear(); }
  UdHandles(const UdHandles&) = delete;
  UdHandles& operator=(const UdHandles&) = delete;

  // Null: the system knows no way to this host.
  ibv_ah* find(const transport::Address& to, uint16_t path, bool ecn_capable);
  size_t size() const { return handles_.size(); }

 private:
  struct Key {
    std::array<uint8_t, 16> host;
    uint16_t path;
    bool ecn_capable;
    auto operator<=>(const Key&) const = default;
  };
  void clear();

  VerbsDevice& device_;
  uint8_t traffic_class_;
  std::map<Key, ibv_ah*> handles_;
};

}  // namespace heddle::datapath
