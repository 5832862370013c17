// Resolve: host names to addresses and addresses to text, for datapaths that speak IP.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "transport/address.h"

namespace heddle::datapath {

// The address of `host`, a name or a numeric address; the first that the system's resolver gives.
// An IPv6 address may stand in brackets and have a scope ("fe80::1%eth0"). Blocks while a name
// server is asked. Errors: kInvalid (empty), kUnavailable (unknown; no answer).
Result<transport::Address> resolve(const std::string& host, uint16_t port);

// Where this host can be reached: the addresses of its interfaces that are up, those of loopback
// last; IPv6 addresses that hold on one link only are left out.
std::vector<transport::Address> host_addresses(uint16_t port);

// The rate of the link of the interface that has this address; zero where no interface has it, or
// its driver does not say (loopback, virtual cables).
BitsPerSec host_link_rate(const transport::Address& local);

// "10.0.0.1:4791", "[fd00::1]:4791", "[fe80::1%2]:4791".
std::string to_text(const transport::Address& address);
// The same without the port: "10.0.0.1", "fd00::1".
std::string host_text(const transport::Address& address);

// Bytes of IP and UDP headers before the payload of a datagram to `to`.
uint32_t ip_udp_header_bytes(const transport::Address& to);

}  // namespace heddle::datapath
