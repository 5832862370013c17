// The BPF program of the AF_XDP datapath, as instructions: steers the datagrams for one port to the
// socket of the receive queue that they arrived at and of the engine that they name, and passes
// everything else to the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "datapath/xdp/params.h"
#include "transport/address.h"

namespace heddle::datapath {

// More addresses than this are not steered: their datagrams arrive over the UDP datapath.
inline constexpr size_t kMaxProgramAddresses = xdp_params::kMaxProgramAddresses;

// Where the program puts datagrams.
struct SteeringTarget {
  int map = -1;         // of sockets, by queue * engines + engine
  uint8_t engines = 1;  // 1 to transport::kMostEngines
};

// The instructions (struct bpf_insn) for UDP datagrams to `port` at one of `addresses` (at least
// one): behind Ethernet and up to two VLAN tags, over IPv4 without options and not fragmented, or
// over IPv6 without extension headers. Those that name no engine, or each, take the socket of any;
// a place without a socket passes its datagrams on.
std::vector<uint64_t> steering_program(const SteeringTarget& target, uint16_t port,
                                       const std::vector<transport::Address>& addresses);

}  // namespace heddle::datapath
