// Creates and removes the namespaces, cables, addresses, routes and queues of a lab. `heddle lab
// up`, `run` and `down` call it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "lab/delays.h"
#include "lab/layout.h"

namespace heddle::lab {

struct BuildOptions {
  bool reorder = false;  // leave receive steering off, so that veth reorders under load
  DelayMethod delays = DelayMethod::kNone;
};

// Creates everything in `layout`. Returns notes: parts of the file that this host cannot implement.
// Errors: kSystem, kPermission, kUnavailable; then the parts created so far still exist.
Result<std::vector<std::string>> build(const Layout& layout, const BuildOptions& options);

// Disables offloads, so that a host's NIC sends single packets with checksums: a limited link
// cannot divide large ones, one loss would drop many packets at once, and without a checksum
// nothing detects corruption. Call it in the host's namespace. Errors: kSystem.
Result<void> stop_offloads(const Port& port);
// Whether a topology needs this from the start: a link has a rate limit or faults.
bool needs_single_packets(const topology::Topology& topology);

// Kills the processes in the namespaces of a lab and removes the namespaces, also of an incomplete
// lab. Errors: kSystem if one remains.
Result<void> tear_down(const std::string& lab);

// The existing namespaces of a lab, by their names under /run/netns.
std::vector<std::string> namespaces_of(const std::string& lab);

}  // namespace heddle::lab
