// The BPF program of the AF_XDP datapath, as instructions: steers the datagrams for one port to the
// socket of the receive queue that they arrived at, and passes everything else to the kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/address.h"

namespace heddle::datapath {

// More addresses than this are not steered: their datagrams arrive over the UDP datapath.
inline constexpr size_t kMaxProgramAddresses = 16;

// The instructions (struct bpf_insn) for UDP datagrams to `port` at one of `addresses` (at least
// one): behind Ethernet and up to two VLAN tags, over IPv4 without options and not fragmented, or
// over IPv6 without extension headers. `map` is the descriptor of the map of sockets; a queue
// without a socket there passes its datagrams on.
std::vector<uint64_t> steering_program(int map, uint16_t port,
                                       const std::vector<transport::Address>& addresses);

}  // namespace heddle::datapath
