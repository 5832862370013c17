// Address: where an endpoint receives, as the transport sees it: opaque bytes that can be compared.
// A datapath gives them meaning (an IPv6 or IPv4-mapped address and port; a host and port in the
// simulator).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace heddle::transport {

struct Address {
  std::array<uint8_t, 16> host{};  // IPv6, or IPv4 as ::ffff:a.b.c.d, in network order
  uint32_t scope = 0;              // IPv6 scope id, else 0
  uint16_t port = 0;               // in host order

  auto operator<=>(const Address&) const = default;
};

// A host's NICs count from 0, in the order in which its operator named them; those beyond are not
// used.
inline constexpr uint32_t kMaxNics = 8;

// Whether one can send to the other at all: both are IPv4, or neither is.
constexpr bool same_family(const Address& one, const Address& other) {
  constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const auto four = [&kMapped](const Address& address) {
    for (size_t i = 0; i < kMapped.size(); ++i) {
      if (address.host[i] != kMapped[i]) return false;
    }
    return true;
  };
  return four(one) == four(other);
}

// Eight bytes of a host from `from` on as a number, most significant first, as events carry it.
constexpr uint64_t host_part(const Address& address, size_t from) {
  uint64_t part = 0;
  for (size_t i = from; i < from + 8; ++i) part = part << 8 | address.host[i];
  return part;
}

}  // namespace heddle::transport
