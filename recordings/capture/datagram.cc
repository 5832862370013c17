// See datagram.h.
#include "recordings/capture/datagram.h"

#include <algorithm>

#include "recordings/capture/network_bytes.h"
#include "recordings/params.h"

namespace heddle::recordings {
namespace {

constexpr uint16_t kTypeIpv4 = 0x0800;
constexpr uint16_t kTypeIpv6 = 0x86dd;

// Numbers of protocols and of extension headers.
constexpr uint8_t kHopByHop = 0;
constexpr uint8_t kUdp = 17;
constexpr uint8_t kRouting = 43;
constexpr uint8_t kFragment = 44;
constexpr uint8_t kDestination = 60;

constexpr uint8_t kEcnMask = 3;
constexpr uint8_t kCongestionExperienced = 3;
constexpr uint32_t kUdpHeaderBytes = 8;

FrameContents none(NoDatagram why) { return {std::nullopt, why}; }

void set_host(std::span<const std::byte> from, HostBytes& host) {
  if (from.size() == 4) host[10] = host[11] = std::byte{0xff};
  std::copy(from.begin(), from.end(), host.end() - static_cast<std::ptrdiff_t>(from.size()));
}

// `ip_bytes`: what the IP header leaves for the UDP header and payload.
FrameContents read_udp(NetworkBytes in, uint32_t ip_bytes, UdpDatagram datagram) {
  datagram.from_port = in.u16();
  datagram.to_port = in.u16();
  const uint32_t udp_bytes = in.u16();
  in.u16();  // checksum
  if (!in.ok()) return none(NoDatagram::kCut);
  if (udp_bytes < kUdpHeaderBytes || udp_bytes > ip_bytes) return none(NoDatagram::kMalformed);
  datagram.payload_bytes = udp_bytes - kUdpHeaderBytes;
  datagram.payload = in.rest().first(std::min<size_t>(in.rest().size(), datagram.payload_bytes));
  return {datagram, {}};
}

FrameContents read_ipv4(NetworkBytes in) {
  const uint8_t start = in.u8();
  const uint8_t service = in.u8();
  const uint32_t total_bytes = in.u16();
  in.u16();  // identification
  const uint16_t fragment = in.u16();
  in.u8();  // time to live
  const uint8_t protocol = in.u8();
  in.u16();  // checksum
  UdpDatagram datagram;
  datagram.marked = (service & kEcnMask) == kCongestionExperienced;
  const auto from = in.take(4);
  const auto to = in.take(4);
  if (!in.ok()) return none(NoDatagram::kCut);
  const uint32_t header_bytes = (start & 0xfu) * 4;
  if (start >> 4 != 4 || header_bytes < 20 || total_bytes < header_bytes) {
    return none(NoDatagram::kMalformed);
  }
  set_host(from, datagram.from);
  set_host(to, datagram.to);
  if ((fragment & 0x3fff) != 0) return none(NoDatagram::kFragment);
  if (protocol != kUdp) return none(NoDatagram::kNotUdp);
  in.take(header_bytes - 20);
  if (!in.ok()) return none(NoDatagram::kCut);
  return read_udp(in, total_bytes - header_bytes, datagram);
}

FrameContents read_ipv6(NetworkBytes in) {
  const uint32_t start = in.u32();
  uint32_t left_bytes = in.u16();
  uint8_t next = in.u8();
  in.u8();  // hop limit
  UdpDatagram datagram;
  datagram.marked = (start >> 20 & kEcnMask) == kCongestionExperienced;
  const auto from = in.take(16);
  const auto to = in.take(16);
  if (!in.ok()) return none(NoDatagram::kCut);
  if (start >> 28 != 6) return none(NoDatagram::kMalformed);
  set_host(from, datagram.from);
  set_host(to, datagram.to);
  for (int i = 0; i < params::capture::kMostExtensions && next != kUdp; ++i) {
    if (next == kFragment) return none(NoDatagram::kFragment);
    if (next != kHopByHop && next != kRouting && next != kDestination) break;
    next = in.u8();
    const uint32_t bytes = (uint32_t{in.u8()} + 1) * 8;
    in.take(bytes - 2);
    if (!in.ok()) return none(NoDatagram::kCut);
    if (bytes > left_bytes) return none(NoDatagram::kMalformed);
    left_bytes -= bytes;
  }
  if (next != kUdp) return none(NoDatagram::kNotUdp);
  return read_udp(in, left_bytes, datagram);
}

FrameContents read_ip(uint16_t type, NetworkBytes in) {
  if (!in.ok()) return none(NoDatagram::kCut);
  if (type == kTypeIpv4) return read_ipv4(in);
  if (type == kTypeIpv6) return read_ipv6(in);
  return none(NoDatagram::kNotIp);
}

// Which of the two it is, its first four bits say.
FrameContents read_raw_ip(NetworkBytes in) {
  if (in.rest().empty()) return none(NoDatagram::kCut);
  const auto version = static_cast<uint8_t>(in.rest()[0]) >> 4;
  return read_ip(version == 4 ? kTypeIpv4 : version == 6 ? kTypeIpv6 : 0, in);
}

FrameContents read_after_type(uint16_t type, NetworkBytes in) {
  constexpr uint16_t kTags[] = {0x8100, 0x88a8, 0x9100};
  for (int i = 0; i < params::capture::kMostTags; ++i) {
    if (std::find(std::begin(kTags), std::end(kTags), type) == std::end(kTags)) break;
    in.u16();  // priority and VLAN
    type = in.u16();
  }
  return read_ip(type, in);
}

}  // namespace

const char* link_name(int type) {
  switch (static_cast<LinkType>(type)) {
    case LinkType::kNull:
    case LinkType::kLoop:
      return "BSD loopback";
    case LinkType::kEthernet:
      return "Ethernet";
    case LinkType::kRawIp:
      return "raw IP";
    case LinkType::kIpv4:
      return "raw IPv4";
    case LinkType::kIpv6:
      return "raw IPv6";
    case LinkType::kCooked:
      return "Linux cooked v1";
    case LinkType::kCooked2:
      return "Linux cooked v2";
  }
  return nullptr;
}

FrameContents read_frame(LinkType link, std::span<const std::byte> captured) {
  NetworkBytes in(captured);
  switch (link) {
    case LinkType::kEthernet:
    case LinkType::kCooked: {
      in.take(link == LinkType::kEthernet ? 12 : 14);
      const uint16_t type = in.u16();
      return read_after_type(type, in);
    }
    case LinkType::kCooked2: {
      const uint16_t type = in.u16();
      in.take(18);
      return read_after_type(type, in);
    }
    case LinkType::kNull:
    case LinkType::kLoop:
      in.take(4);  // an address family in the byte order of the host
      return read_raw_ip(in);
    case LinkType::kRawIp:
    case LinkType::kIpv4:
    case LinkType::kIpv6:
      return read_raw_ip(in);
  }
  return none(NoDatagram::kNotIp);
}

}  // namespace heddle::recordings
