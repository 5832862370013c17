// Batches: the input for `ip` that makes a lab, and the settings of a namespace's files under
// /proc/sys. Pure functions, so tests can read the texts. queues.h has the input for tc, filters.h
// that for nft.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lab/layout.h"
#include "lab/routes.h"

namespace heddle::lab {

// For `ip -batch` in the parent namespace: all namespaces, then all cables between them.
std::string namespace_batch(const Layout& layout);
std::string cable_batch(const Layout& layout);

// For `ip -batch` in the namespace of `place`: addresses, neighbors and routes.
std::string address_batch(const Layout& layout, const Place& place);
std::string host_route_batch(const Layout& layout, const Place& place);
// Rules of one family; unlike for routes, IPv6 rules need `ip -6 -batch`.
std::string host_rule_batch(const Layout& layout, const Place& place, bool ipv6);
std::string switch_route_batch(const Layout& layout, uint32_t place, const NextHops& hops);

// The addresses and neighbor of one port, to be restored after it was down.
std::string port_batch(const Layout& layout, const Port& port);

// Files below /proc/sys/net and their values. The seed of the ECMP hash is separate, because older
// kernels lack it.
std::vector<std::pair<std::string, std::string>> sysctls(const Layout& layout, const Place& place);
// The seed of a switch's ECMP hash, never zero (zero makes the kernel use a random one).
uint32_t ecmp_seed(const Layout& layout, const Place& place);

}  // namespace heddle::lab
