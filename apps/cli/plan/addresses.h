// Addresses of a fabric's hosts and switches, by which transports on real networks recognize a
// plan's hosts and routes.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "topology/topology.h"

namespace heddle::cli {

using NamedAddresses = std::multimap<std::string, std::string>;

// Those that `heddle lab up` gives them: of each NIC, and of each switch's replies to traceroute.
// Errors: kInvalid where no lab can be made of the topology.
Result<NamedAddresses> lab_addresses(const topology::Topology& topology);

// A file with an address and a name in each line, as /etc/hosts; a host with several NICs has
// several lines. Names that the topology lacks are left out. Errors: kUnavailable, kInvalid where a
// host or a switch of the topology has no address, or one that another has, too.
Result<NamedAddresses> read_addresses(const std::string& file, const topology::Topology& topology);

}  // namespace heddle::cli
