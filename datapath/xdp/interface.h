// The interface that an AF_XDP datapath attaches to: found by a local address, seen through VLAN
// interfaces to the device that has the queues.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/xdp/frame.h"
#include "datapath/xdp/netlink.h"
#include "transport/address.h"

namespace heddle::datapath {

struct XdpInterface {
  std::string name;        // of the device
  uint32_t device = 0;     // index of the device: where program and sockets attach
  uint32_t addressed = 0;  // index of the interface with the addresses: device, or a VLAN on it
  MacAddress mac{};        // of the addressed interface
  uint32_t mtu_bytes = 0;  // of the addressed interface
  std::array<VlanTag, 2> tags{};  // of its frames, the outer one first
  uint8_t tag_count = 0;
  uint32_t receive_queues = 1;
  uint32_t transmit_queues = 1;
  std::vector<transport::Address> addresses;  // whose datagrams the program steers
};

// Finds the interface with address `local`; of a wildcard: the only interface that is up and has
// addresses. Errors: kUnavailable, kInvalid (several interfaces for a wildcard).
Result<XdpInterface> find_xdp_interface(const transport::Address& local, const Netlink& netlink);

}  // namespace heddle::datapath
