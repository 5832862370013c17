// Building: makes the namespaces, cables, addresses, routes and queues of a lab, and takes them
// away. `heddle lab up`, `run` and `down` drive it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "lab/delays.h"
#include "lab/layout.h"

namespace heddle::lab {

struct BuildOptions {
  bool reorder = false;  // leave receive steering off, so that veth reorders when busy
  DelayMethod delays = DelayMethod::kNone;
};

// Makes everything that `layout` names. Returns notes: what this host cannot do as the file says.
// Errors: kSystem, kPermission, kUnavailable; then what was made so far is still there.
Result<std::vector<std::string>> build(const Layout& layout, const BuildOptions& options);

// Packets leave a host's NIC one by one from now on, each with a checksum: a limited link cannot
// cut large ones well, a loss would take many at a time, and without a checksum nobody would notice
// damage. In the host's namespace. Errors: kSystem.
Result<void> stop_offloads(const Port& port);
// Whether a topology wants that from the start: something is limited, or goes wrong.
bool needs_single_packets(const topology::Topology& topology);

// Kills the processes in the namespaces of a lab and removes these, also half-made ones. Errors:
// kSystem, where something stays.
Result<void> tear_down(const std::string& lab);

// The namespaces that exist of a lab, by the names under /run/netns.
std::vector<std::string> namespaces_of(const std::string& lab);

}  // namespace heddle::lab
