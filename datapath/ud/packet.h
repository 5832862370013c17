// What is around a datagram of a UD queue pair: the global routing header that the NIC writes
// before it (of IPv4 the packet's IP header, in its last 20 bytes), and the ports of both ends,
// which travel as immediate data. Nothing of it is trusted before it is read here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/address.h"
#include "transport/rx_run.h"

namespace heddle::datapath {

inline constexpr size_t kGrhBytes = 40;

// As a completion of the NIC states it.
struct UdReceived {
  uint32_t bytes = 0;  // with the header
  bool has_header = false;
  bool has_immediate = false;
  uint32_t immediate = 0;
};

struct UdArrival {
  transport::Address from;
  transport::Ecn ecn = transport::Ecn::kNotCapable;
  uint32_t bytes = 0;  // of the datagram
};

// The source port of the path, and the port at which the peer receives by UDP.
constexpr uint32_t ports_of(uint16_t from, uint16_t to) { return uint32_t{from} << 16 | to; }

// Nothing: no datagram for `local`, or one that no UD datapath sends. `buffer`: what the NIC wrote
// to, of which the first `received.bytes` count.
std::optional<UdArrival> read_arrival(std::span<const std::byte> buffer, const UdReceived& received,
                                      const transport::Address& local);

}  // namespace heddle::datapath
