// UDP datagrams in the frames of a capture: Ethernet with VLAN tags, raw IP, Linux "cooked" headers
// and the BSD loopback's; IPv4 and IPv6.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace heddle::recordings {

// Link types that are read, by their numbers in captures (LINKTYPE_*).
enum class LinkType : int {
  kNull = 0,
  kEthernet = 1,
  kRawIp = 101,
  kLoop = 108,
  kCooked = 113,
  kIpv4 = 228,
  kIpv6 = 229,
  kCooked2 = 276,
};
// "Ethernet"; nullptr: it is not read.
const char* link_name(int type);

using HostBytes = std::array<std::byte, 16>;  // IPv6, or IPv4 as ::ffff:a.b.c.d

struct UdpDatagram {
  HostBytes from{};
  HostBytes to{};
  uint16_t from_port = 0;
  uint16_t to_port = 0;
  bool marked = false;                 // ECN: congestion experienced
  uint32_t payload_bytes = 0;          // on the wire
  std::span<const std::byte> payload;  // what was captured of it
};

enum class NoDatagram : uint8_t {
  kNotIp,
  kNotUdp,
  kFragment,
  kCut,  // headers were not captured
  kMalformed,
};

struct FrameContents {
  std::optional<UdpDatagram> datagram;
  NoDatagram why = NoDatagram::kNotIp;  // where there is none
};
FrameContents read_frame(LinkType link, std::span<const std::byte> captured);

}  // namespace heddle::recordings
