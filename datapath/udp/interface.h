// What the host's interfaces say: their addresses, and the size of datagrams.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "datapath/datapath.h"
#include "transport/address.h"

namespace heddle::datapath {

// The MTU of the interface that has the address `local`; for an "any" address the largest of the
// interfaces that are up, without loopback unless there is nothing else. 1500 if nothing is known.
uint32_t interface_mtu(const transport::Address& local);

// The interface that has the address `local`, and its rate; nothing of an "any" address. Of virtual
// cables (veth), whose drivers tell a rate that means nothing, the rate is left out.
NicFacts interface_facts(const transport::Address& local);

// What a user calls a place of this host: the name of an interface (its first IPv4 address, else
// its first IPv6 address that is no link's alone), an address, or a host name. Errors: kUnavailable
// (an interface without addresses), those of resolve().
Result<transport::Address> local_address(const std::string& name, uint16_t port);

}  // namespace heddle::datapath
