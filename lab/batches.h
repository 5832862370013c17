// Batches: the texts that ip, tc and nft are given to make a lab, and what a namespace's files
// under /proc/sys are set to. Pure, so that tests can read them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "lab/layout.h"
#include "lab/routes.h"

namespace heddle::lab {

// For `ip -batch`, outside: all namespaces, then all cables between them.
std::string namespace_batch(const Layout& layout);
std::string cable_batch(const Layout& layout);

// For `ip -batch` in a place: addresses, neighbours and routes.
std::string address_batch(const Layout& layout, const Place& place);
std::string host_route_batch(const Layout& layout, const Place& place);
std::string switch_route_batch(const Layout& layout, uint32_t place, const NextHops& hops);

// One port's addresses and neighbour, to be given again after it was down.
std::string port_batch(const Port& port);

// For `tc -batch` in a place: the rate and queue of each port; empty where nothing is limited.
std::string queue_batch(const Layout& layout, const Place& place);
// The queue of one port at `rate`; zero: not limited.
std::string port_queue(const Port& port, const topology::LinkShape& shape, BitsPerSec rate);

// Files below /proc/sys/net and what they are set to. The seed of the ECMP hash is not among them:
// older kernels have none.
std::vector<std::pair<std::string, std::string>> sysctls(const Layout& layout, const Place& place);
// The seed of a switch's ECMP hash, never zero (zero means a random one of the kernel's).
uint32_t ecmp_seed(const Layout& layout, const Place& place);

}  // namespace heddle::lab
