// Facts about the host's interfaces: addresses, MTU and link rate.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "datapath/datapath.h"
#include "transport/address.h"

namespace heddle::datapath {

// The MTU of the interface with address `local`. For a wildcard address: the largest of the
// interfaces that are up, without loopback unless there is no other. 1500 if unknown.
uint32_t interface_mtu(const transport::Address& local);

// The interface with address `local`, and its rate; empty for a wildcard address. The rate of veth
// interfaces is omitted, because their driver reports an arbitrary one.
NicFacts interface_facts(const transport::Address& local);

// The address of a local name: an interface (its first IPv4 address, else its first IPv6 address
// that is not link-local), an address, or a host name. Errors: kUnavailable (an interface without
// addresses), those of resolve().
Result<transport::Address> local_address(const std::string& name, uint16_t port);

}  // namespace heddle::datapath
