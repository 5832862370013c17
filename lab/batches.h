// Batches: the texts that ip is given to make a lab, and what a namespace's files under /proc/sys
// are set to. Pure, so that tests can read them. queues.h has those for tc, filters.h for nft.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lab/layout.h"
#include "lab/routes.h"

namespace heddle::lab {

// For `ip -batch`, outside: all namespaces, then all cables between them.
std::string namespace_batch(const Layout& layout);
std::string cable_batch(const Layout& layout);

// For `ip -batch` in a place: addresses, neighbours and routes.
std::string address_batch(const Layout& layout, const Place& place);
std::string host_route_batch(const Layout& layout, const Place& place);
// Of one family: `ip -6 -batch` must be told, unlike for routes.
std::string host_rule_batch(const Layout& layout, const Place& place, bool ipv6);
std::string switch_route_batch(const Layout& layout, uint32_t place, const NextHops& hops);

// One port's addresses and neighbour, to be given again after it was down.
std::string port_batch(const Layout& layout, const Port& port);

// Files below /proc/sys/net and what they are set to. The seed of the ECMP hash is not among them:
// older kernels have none.
std::vector<std::pair<std::string, std::string>> sysctls(const Layout& layout, const Place& place);
// The seed of a switch's ECMP hash, never zero (zero means a random one of the kernel's).
uint32_t ecmp_seed(const Layout& layout, const Place& place);

}  // namespace heddle::lab
