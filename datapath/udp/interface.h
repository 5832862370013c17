// What the host's interfaces say about the size of datagrams.
#pragma once

#include <cstdint>

#include "transport/address.h"

namespace heddle::datapath {

// The MTU of the interface that has the address `local`; for an "any" address the largest of the
// interfaces that are up, without loopback unless there is nothing else. 1500 if nothing is known.
uint32_t interface_mtu(const transport::Address& local);

}  // namespace heddle::datapath
