// Interfaces: the host's network interfaces with their addresses, read from the system.
#pragma once

#include <vector>

#include "base/host_interface.h"

namespace heddle::datapath {

// All interfaces of this network namespace by their index, those without addresses too; empty if
// the system does not list them. An IPv4 label ("eth0:1") is an address of its interface.
std::vector<HostInterface> host_interfaces();

}  // namespace heddle::datapath
