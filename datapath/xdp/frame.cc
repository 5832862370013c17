// See frame.h. Layouts: IEEE 802.3 and 802.1Q, RFC 791, RFC 8200, RFC 768.
#include "datapath/xdp/frame.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace heddle::datapath {

using transport::Address;
using transport::Ecn;

namespace {

constexpr uint16_t kIpv4 = 0x0800;
constexpr uint16_t kIpv6 = 0x86dd;
constexpr uint16_t kVlan = 0x8100;
constexpr uint16_t kServiceVlan = 0x88a8;
constexpr uint8_t kUdp = 17;
constexpr uint32_t kIpv4Bytes = 20;
constexpr uint32_t kIpv6Bytes = 40;
constexpr uint32_t kUdpBytes = 8;
constexpr uint16_t kDontFragment = 0x4000;
constexpr uint16_t kFragmentBits = 0x3fff;  // MF and the offset
constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

uint16_t read_16(const std::byte* at) {
  return static_cast<uint16_t>(static_cast<uint16_t>(at[0]) << 8 | static_cast<uint16_t>(at[1]));
}

void write_16(std::byte* at, uint32_t value) {
  at[0] = static_cast<std::byte>(value >> 8);
  at[1] = static_cast<std::byte>(value);
}

// Two bytes as they are in memory.
uint16_t read_stored(const std::byte* at) {
  uint16_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

bool is_mapped(const Address& address) {
  return std::equal(kMapped.begin(), kMapped.end(), address.host.begin());
}

std::byte* write_link(const LinkHeader& link, uint16_t protocol, std::byte* at) {
  CHECK(link.tag_count <= kMaxTags);
  std::memcpy(at, link.to.data(), link.to.size());
  std::memcpy(at + 6, link.from.data(), link.from.size());
  at += 12;
  for (uint32_t i = 0; i < link.tag_count; ++i, at += kTagBytesOnWire) {
    write_16(at, link.tags[i].protocol);
    write_16(at + 2, link.tags[i].id & 0xfff);
  }
  write_16(at, protocol);
  return at + 2;
}

// Keeps the path's label constant, so that switches that hash on it keep the path (RFC 6438).
uint32_t flow_label(uint16_t from_port) { return (from_port * 0x9e3b5u) & 0xfffff; }

FrameFault parse_ipv4(std::span<const std::byte> start, uint32_t& at, uint32_t& ip_bytes,
                      ParsedFrame& parsed) {
  const std::byte* ip = start.data() + at;
  if (ip_bytes < kIpv4Bytes) return FrameFault::kTruncated;
  if (ip[0] != std::byte{0x45} || ip[9] != std::byte{kUdp}) return FrameFault::kForeign;
  if ((read_16(ip + 6) & kFragmentBits) != 0) return FrameFault::kForeign;
  ChecksumSum header;
  header.add({ip, kIpv4Bytes});
  if (!ParsedFrame::holds(header)) return FrameFault::kChecksum;
  const uint32_t total = read_16(ip + 2);
  if (total < kIpv4Bytes || total > ip_bytes) return FrameFault::kTruncated;
  ip_bytes = total - kIpv4Bytes;
  parsed.ecn = static_cast<Ecn>(static_cast<uint8_t>(ip[1]) & 3);
  std::copy(kMapped.begin(), kMapped.end(), parsed.from.host.begin());
  std::memcpy(parsed.from.host.data() + kMapped.size(), ip + 12, 4);
  // As the kernel drops them: no host sends from "this network", loopback, multicast or above.
  const auto network = static_cast<uint8_t>(ip[12]);
  if (network == 0 || network == 127 || network >= 224) return FrameFault::kForeign;
  parsed.from.scope = 0;
  parsed.header_sum.add({ip + 12, 8});
  at += kIpv4Bytes;
  return FrameFault::kNone;
}

FrameFault parse_ipv6(std::span<const std::byte> start, uint32_t scope, uint32_t& at,
                      uint32_t& ip_bytes, ParsedFrame& parsed) {
  const std::byte* ip = start.data() + at;
  if (ip_bytes < kIpv6Bytes) return FrameFault::kTruncated;
  if ((ip[0] & std::byte{0xf0}) != std::byte{0x60} || ip[6] != std::byte{kUdp}) {
    return FrameFault::kForeign;
  }
  const uint32_t length = read_16(ip + 4);
  if (length > ip_bytes - kIpv6Bytes) return FrameFault::kTruncated;
  ip_bytes = length;
  parsed.ecn = static_cast<Ecn>(static_cast<uint8_t>(ip[1]) >> 4 & 3);
  std::memcpy(parsed.from.host.data(), ip + 8, 16);
  // As the kernel drops them; a mapped one would pass for IPv4.
  if (is_mapped(parsed.from) || parsed.from.host[0] == 0xff) return FrameFault::kForeign;
  const bool link_local = parsed.from.host[0] == 0xfe && (parsed.from.host[1] & 0xc0) == 0x80;
  parsed.from.scope = link_local ? scope : 0;
  parsed.header_sum.add({ip + 8, 32});
  at += kIpv6Bytes;
  return FrameFault::kNone;
}

FrameFault parse_udp(std::span<const std::byte> start, uint32_t at, uint32_t bytes, uint16_t port,
                     ParsedFrame& parsed) {
  if (bytes < kUdpBytes) return FrameFault::kTruncated;
  const std::byte* udp = start.data() + at;
  if (read_16(udp + 2) != port) return FrameFault::kForeign;
  const uint32_t length = read_16(udp + 4);
  if (length < kUdpBytes || length > bytes) return FrameFault::kTruncated;
  if (length == kUdpBytes) return FrameFault::kEmpty;
  parsed.from.port = read_16(udp);
  parsed.payload_at = at + kUdpBytes;
  parsed.payload_bytes = length - kUdpBytes;
  parsed.header_sum.add_word(kUdp);
  parsed.header_sum.add_word(static_cast<uint16_t>(length));
  const uint16_t stored = read_stored(udp + 6);
  const bool four = is_mapped(parsed.from);
  // Zero: the sender computed none, which only IPv4 permits.
  if (stored == 0 && !four) return FrameFault::kChecksum;
  parsed.checked = stored == 0 || stored == parsed.header_sum.folded();
  parsed.header_sum.add({udp, kUdpBytes});
  return FrameFault::kNone;
}

}  // namespace

FrameTemplate make_frame_template(const LinkHeader& link, const Address& from, const Address& to) {
  FrameTemplate frame;
  frame.four = is_mapped(to);
  CHECK(frame.four == is_mapped(from));
  std::byte* at = write_link(link, frame.four ? kIpv4 : kIpv6, frame.bytes.data());
  frame.ip_at = static_cast<uint32_t>(at - frame.bytes.data());
  if (frame.four) {
    at[0] = std::byte{0x45};
    at[9] = std::byte{kUdp};
    std::memcpy(at + 12, from.host.data() + kMapped.size(), 4);
    std::memcpy(at + 16, to.host.data() + kMapped.size(), 4);
    frame.ip_sum.add({at, kIpv4Bytes});
    frame.pseudo_sum.add({at + 12, 8});
    at += kIpv4Bytes;
  } else {
    at[0] = std::byte{0x60};
    at[6] = std::byte{kUdp};
    std::memcpy(at + 8, from.host.data(), 16);
    std::memcpy(at + 24, to.host.data(), 16);
    frame.pseudo_sum.add({at + 8, 32});
    at += kIpv6Bytes;
  }
  frame.pseudo_sum.add_word(kUdp);
  frame.header_bytes = static_cast<uint32_t>(at - frame.bytes.data()) + kUdpBytes;
  return frame;
}

void write_frame_headers(const FrameTemplate& frame, const DatagramFields& fields,
                         ChecksumSum payload, std::byte* to) {
  std::memcpy(to, frame.bytes.data(), frame.header_bytes);
  const uint32_t udp_bytes = kUdpBytes + fields.payload_bytes;
  std::byte* ip = to + frame.ip_at;
  if (frame.four) {
    const uint32_t total = kIpv4Bytes + udp_bytes;
    const uint16_t flags = fields.may_fragment ? 0 : kDontFragment;
    ip[1] = static_cast<std::byte>(fields.traffic_class);
    write_16(ip + 2, total);
    write_16(ip + 4, fields.id);
    write_16(ip + 6, flags);
    ip[8] = static_cast<std::byte>(fields.hop_limit);
    ChecksumSum sum = frame.ip_sum;
    sum.add_word(fields.traffic_class);
    sum.add_word(static_cast<uint16_t>(total));
    sum.add_word(fields.id);
    sum.add_word(flags);
    sum.add_word(static_cast<uint16_t>(fields.hop_limit << 8));
    const auto check = static_cast<uint16_t>(~sum.folded());
    std::memcpy(ip + 10, &check, sizeof check);
  } else {
    const uint32_t label = flow_label(fields.from_port);
    ip[0] = static_cast<std::byte>(0x60 | fields.traffic_class >> 4);
    ip[1] = static_cast<std::byte>((fields.traffic_class & 0xf) << 4 | label >> 16);
    write_16(ip + 2, label);
    write_16(ip + 4, udp_bytes);
    ip[7] = static_cast<std::byte>(fields.hop_limit);
  }
  std::byte* udp = to + frame.header_bytes - kUdpBytes;
  write_16(udp, fields.from_port);
  write_16(udp + 2, fields.to_port);
  write_16(udp + 4, udp_bytes);
  ChecksumSum sum = frame.pseudo_sum;
  sum.add_word(static_cast<uint16_t>(udp_bytes));
  sum.add({udp, kUdpBytes});  // the checksum field is zero
  sum.add_sum(payload);
  auto check = static_cast<uint16_t>(~sum.folded());
  if (check == 0) check = 0xffff;  // zero would mean "none" (RFC 768)
  std::memcpy(udp + 6, &check, sizeof check);
}

FrameFault parse_frame(std::span<const std::byte> start, uint32_t frame_bytes, uint16_t port,
                       uint32_t scope, ParsedFrame& parsed) {
  // No access below is behind the start: the sums of all headers are at most this.
  if (start.size() < std::min(frame_bytes, kMaxFrameHeaderBytes)) return FrameFault::kTruncated;
  if (frame_bytes < kEthernetBytes) return FrameFault::kTruncated;
  parsed = {};
  uint32_t at = 12;
  uint16_t protocol = read_16(start.data() + at);
  for (uint32_t tags = 0; protocol == kVlan || protocol == kServiceVlan; ++tags) {
    if (tags == kMaxTags) return FrameFault::kForeign;
    at += kTagBytesOnWire;
    if (frame_bytes < at + 2) return FrameFault::kTruncated;
    protocol = read_16(start.data() + at);
  }
  at += 2;
  uint32_t left = frame_bytes - at;
  FrameFault fault = FrameFault::kForeign;
  if (protocol == kIpv4) fault = parse_ipv4(start, at, left, parsed);
  if (protocol == kIpv6) fault = parse_ipv6(start, scope, at, left, parsed);
  return fault != FrameFault::kNone ? fault : parse_udp(start, at, left, port, parsed);
}

}  // namespace heddle::datapath
