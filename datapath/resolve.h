// Resolve: host names to addresses and addresses to text, for datapaths over IP.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "transport/address.h"

namespace heddle::datapath {

// The address of `host`, a name or a numeric address; the system resolver's first answer. An IPv6
// address may have brackets and a scope ("fe80::1%eth0"). Blocks during name resolution. Errors:
// kInvalid (empty), kUnavailable (unknown name; no answer).
Result<transport::Address> resolve(const std::string& host, uint16_t port);

// The same of a numeric address alone, without any resolver. Errors: kInvalid (it is none).
Result<transport::Address> parse_address(const std::string& host, uint16_t port);

// The addresses of this host's interfaces that are up, loopback last, without link-local IPv6
// addresses.
std::vector<transport::Address> host_addresses(uint16_t port);

// The rate of the link of the interface that has this address; zero where no interface has it, or
// its driver does not say (loopback, virtual cables).
BitsPerSec host_link_rate(const transport::Address& local);

// Formats as "10.0.0.1:4791", "[fd00::1]:4791" or "[fe80::1%2]:4791".
std::string to_text(const transport::Address& address);
// The same without the port: "10.0.0.1", "fd00::1".
std::string host_text(const transport::Address& address);

// Bytes of IP and UDP headers before the payload of a datagram to `to`.
uint32_t ip_udp_header_bytes(const transport::Address& to);

}  // namespace heddle::datapath
