// Parsing and formatting of addresses, for callers that use endpoints but no datapath.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "transport/address.h"

namespace heddle::engine {

// Resolves "host", "host:port" or "[v6]:port"; `default_port` applies where the name has no port.
// Blocks during name resolution. Errors: kInvalid, kUnavailable (unknown name).
Result<transport::Address> find_address(const std::string& name, uint16_t default_port);

// The same of a numeric address, "10.0.0.1", "fd00::1" or "[fd00::1]", without name resolution.
// Errors: kInvalid.
Result<transport::Address> parse_address(const std::string& host, uint16_t port);

// The addresses of this host's interfaces with `port`; loopback addresses come last.
std::vector<transport::Address> own_addresses(uint16_t port);

// The rate of the link behind one of them; zero: not known, or no address of this host.
BitsPerSec link_rate(const transport::Address& own);

// Formats an address as "10.0.0.1:4791" or "[fd00::1]:4791".
std::string address_text(const transport::Address& address);

// True for the wildcard address (0.0.0.0 or ::), the address of an endpoint that is not bound to
// one.
bool is_any(const transport::Address& address);
bool is_loopback(const transport::Address& address);

}  // namespace heddle::engine
