// Addresses: see addresses.h.
#include "engine/addresses.h"

#include <algorithm>
#include <array>

#include "datapath/resolve.h"
#include "engine/host_port.h"

namespace heddle::engine {
namespace {

using transport::Address;

// The prefix of an IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2).
constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_ipv4(const Address& address) {
  return std::equal(kMapped.begin(), kMapped.end(), address.host.begin());
}

}  // namespace

Result<Address> find_address(const std::string& name, uint16_t default_port) {
  const Result<HostPort> parts = parse_host_port(name, default_port);
  if (!parts) return fail(parts.error());
  return datapath::resolve(parts->host, parts->port);
}

Result<Address> parse_address(const std::string& host, uint16_t port) {
  return datapath::parse_address(host, port);
}

std::vector<Address> own_addresses(uint16_t port) { return datapath::host_addresses(port); }

BitsPerSec link_rate(const Address& own) { return datapath::host_link_rate(own); }

std::string address_text(const Address& address) { return datapath::to_text(address); }

bool is_any(const Address& address) {
  const size_t from = is_ipv4(address) ? kMapped.size() : 0;
  return std::all_of(address.host.begin() + from, address.host.end(),
                     [](uint8_t byte) { return byte == 0; });
}

bool is_loopback(const Address& address) {
  if (is_ipv4(address)) return address.host[12] == 127;
  constexpr std::array<uint8_t, 16> kLoopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return address.host == kLoopback;
}

}  // namespace heddle::engine
