// See packet.h.
#include "datapath/ud/packet.h"

#include <algorithm>
#include <cstring>

#include "datapath/udp/socket_address.h"

namespace heddle::datapath {

using transport::Address;
using transport::Ecn;

namespace {

constexpr size_t kIpv4At = 20;  // in the routing header; what is before it means nothing
constexpr std::byte kIpv4WithoutOptions{0x45};
constexpr size_t kIpv4TosAt = kIpv4At + 1;
constexpr size_t kIpv4FromAt = kIpv4At + 12;
constexpr size_t kIpv4ToAt = kIpv4At + 16;
constexpr size_t kIpv6FromAt = 8;
constexpr size_t kIpv6ToAt = 24;

bool holds(std::span<const std::byte> header, size_t at, const uint8_t* address, size_t bytes) {
  return std::memcmp(header.data() + at, address, bytes) == 0;
}

bool read_ipv4(std::span<const std::byte> header, const Address& local, UdArrival& out) {
  if (header[kIpv4At] != kIpv4WithoutOptions) return false;
  if (!holds(header, kIpv4ToAt, local.host.data() + 12, 4)) return false;
  out.from.host = local.host;  // with the prefix of mapped addresses
  std::memcpy(out.from.host.data() + 12, header.data() + kIpv4FromAt, 4);
  out.ecn = static_cast<Ecn>(header[kIpv4TosAt] & std::byte{3});
  return true;
}

bool read_ipv6(std::span<const std::byte> header, const Address& local, UdArrival& out) {
  if (header[0] >> 4 != std::byte{6}) return false;
  if (!holds(header, kIpv6ToAt, local.host.data(), 16)) return false;
  std::memcpy(out.from.host.data(), header.data() + kIpv6FromAt, 16);
  out.ecn = static_cast<Ecn>(header[1] >> 4 & std::byte{3});
  return true;
}

}  // namespace

std::optional<UdArrival> read_arrival(std::span<const std::byte> buffer, const UdReceived& received,
                                      const Address& local) {
  if (!received.has_header || !received.has_immediate) return std::nullopt;
  if (received.bytes <= kGrhBytes || received.bytes > buffer.size()) return std::nullopt;
  if ((received.immediate & 0xffff) != local.port) return std::nullopt;
  UdArrival out;
  out.bytes = received.bytes - static_cast<uint32_t>(kGrhBytes);
  out.from.scope = local.scope;
  out.from.port = static_cast<uint16_t>(received.immediate >> 16);
  if (out.from.port == 0) return std::nullopt;
  const auto header = buffer.first(kGrhBytes);
  const bool good = is_ipv4(local) ? read_ipv4(header, local, out) : read_ipv6(header, local, out);
  if (!good) return std::nullopt;
  return out;
}

}  // namespace heddle::datapath
