// Addresses as people write and read them, for those who use endpoints and no datapath.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "transport/address.h"

namespace heddle::engine {

// The address of "host", "host:port" or "[v6]:port"; `default_port` where there is none. Blocks
// while a name server is asked. Errors: kInvalid, kUnavailable (a name that is not known).
Result<transport::Address> find_address(const std::string& name, uint16_t default_port);

// Where this host can be reached at a port: its interfaces' addresses, loopback's last.
std::vector<transport::Address> own_addresses(uint16_t port);

// The rate of the link behind one of them; zero: not known, or no address of this host.
BitsPerSec link_rate(const transport::Address& own);

// "10.0.0.1:4791", "[fd00::1]:4791".
std::string address_text(const transport::Address& address);

// Whether it stands for every address of this host, as that of an endpoint which is bound to none.
bool is_any(const transport::Address& address);
bool is_loopback(const transport::Address& address);

}  // namespace heddle::engine
