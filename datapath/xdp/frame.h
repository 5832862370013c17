// Frames: builds and parses the Ethernet, VLAN, IP and UDP headers of the datagrams that AF_XDP
// sends and receives. Pure functions; XdpTransmitter and XdpReceiver call them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/xdp/checksum.h"
#include "transport/address.h"
#include "transport/rx_run.h"

namespace heddle::datapath {

using MacAddress = std::array<uint8_t, 6>;

// An IEEE 802.1Q or 802.1ad tag.
struct VlanTag {
  uint16_t protocol = 0x8100;  // TPID: 0x8100 or 0x88a8
  uint16_t id = 0;             // 12 bits; priority 0

  bool operator==(const VlanTag&) const = default;
};

// How a frame leaves: its Ethernet header. The outer tag comes first.
struct LinkHeader {
  MacAddress from{};
  MacAddress to{};
  std::array<VlanTag, 2> tags{};
  uint8_t tag_count = 0;

  bool operator==(const LinkHeader&) const = default;
};

inline constexpr uint32_t kMaxTags = 2;
inline constexpr uint32_t kEthernetBytes = 14;
inline constexpr uint32_t kTagBytesOnWire = 4;
// Ethernet with two tags, IPv6, UDP.
inline constexpr uint32_t kMaxFrameHeaderBytes = kEthernetBytes + 2 * kTagBytesOnWire + 40 + 8;

// What all frames to one destination have in common; made once per route.
struct FrameTemplate {
  std::array<std::byte, kMaxFrameHeaderBytes> bytes{};
  uint32_t header_bytes = 0;  // up to the UDP payload
  uint32_t ip_at = 0;
  bool four = false;
  ChecksumSum ip_sum;      // IPv4: the IP header without the fields of DatagramFields
  ChecksumSum pseudo_sum;  // of UDP: the addresses and the protocol
};

// Both addresses have the same family.
FrameTemplate make_frame_template(const LinkHeader& link, const transport::Address& from,
                                  const transport::Address& to);

// What differs from datagram to datagram.
struct DatagramFields {
  uint16_t from_port = 0;
  uint16_t to_port = 0;
  uint8_t traffic_class = 0;  // DSCP and ECN
  uint8_t hop_limit = 64;
  bool may_fragment = false;  // IPv4: clears DF (IPv6 has none)
  uint16_t id = 0;            // IPv4: identification; matters only where it may be fragmented
  uint32_t payload_bytes = 0;
};

// Writes frame.header_bytes bytes of headers to `to`; `payload` is the sum of the UDP payload. The
// UDP checksum is always present: it is the only protection of the payload end to end (Ethernet's
// CRC ends at each switch), and IPv6 requires it (RFC 8200 section 8.1).
void write_frame_headers(const FrameTemplate& frame, const DatagramFields& fields,
                         ChecksumSum payload, std::byte* to);

// Why a frame is dropped.
enum class FrameFault : uint8_t {
  kNone,
  kTruncated,  // shorter than its headers or lengths say
  kForeign,    // not UDP over IP without options and fragments, or another port
  kEmpty,      // no payload
  kChecksum,
};

struct ParsedFrame {
  transport::Address from;
  transport::Ecn ecn = transport::Ecn::kNotCapable;
  uint32_t payload_at = 0;  // from the start of the frame
  uint32_t payload_bytes = 0;
  bool checked = false;    // the UDP checksum needs no look at the payload
  ChecksumSum header_sum;  // UDP checksum: of everything but the payload

  // True if the checksum holds for a payload with this sum added to header_sum.
  static bool holds(const ChecksumSum& complete) { return complete.folded() == 0xffff; }
};

// Parses the headers of a received frame of `frame_bytes`, of which `start` are the first bytes
// (at least kMaxFrameHeaderBytes or the whole frame if it is shorter). `port` is ours; `scope` is
// the scope of link-local senders. Checks lengths and the IP header's checksum. A UDP checksum
// field that holds only the sum of the pseudo-header is accepted as `checked`: so does the kernel
// leave it in packets that never were on a wire (CHECKSUM_PARTIAL, veth between namespaces).
FrameFault parse_frame(std::span<const std::byte> start, uint32_t frame_bytes, uint16_t port,
                       uint32_t scope, ParsedFrame& parsed);

}  // namespace heddle::datapath
