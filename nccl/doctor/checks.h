// The groups of checks that examine() runs, each a function of the facts that appends its findings.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nccl/doctor.h"

namespace heddle::nccl::doctor {

using Findings = std::vector<Finding>;

inline void ok(Findings& findings, std::string topic, std::string what) {
  findings.push_back({Grade::kOk, std::move(topic), std::move(what), {}, {}});
}

// The plugin's library, NCCL's libraries and the tables that they agree on, NCCL's variables.
void check_plugin(const HostFacts& facts, Findings& findings);
void check_libraries(const HostFacts& facts, Findings& findings);
void check_settings(const HostFacts& facts, Findings& findings);
// Interfaces one by one, and what only several of them can have.
void check_interfaces(const HostFacts& facts, Findings& findings);
void check_several(const HostFacts& facts, const std::vector<Nic>& chosen, Findings& findings);
// Sockets, limits, cores, keys, firewalls.
void check_host(const HostFacts& facts, Findings& findings);

}  // namespace heddle::nccl::doctor
