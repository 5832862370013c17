// The groups of checks that examine() runs, each a function of the facts that appends its findings.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nccl/doctor.h"

namespace heddle::nccl::doctor {

using Findings = std::vector<Finding>;

inline constexpr const char* kEnvCommand = "eval \"$(heddle nccl env)\"";

inline void ok(Findings& findings, std::string topic, std::string what) {
  findings.push_back({Grade::kOk, std::move(topic), std::move(what), {}, {}});
}

inline void fail(Findings& findings, std::string topic, const Error& error) {
  findings.push_back({Grade::kFail, std::move(topic), error.what, error.why, error.todo});
}

// Compares names as NCCL does: case does not matter.
bool equal(const std::string& one, const std::string& other);

// The plugin's library, NCCL's libraries and the tables that they agree on.
void check_plugin(const HostFacts& facts, Findings& findings);
void check_libraries(const HostFacts& facts, Findings& findings);
// Variables of NCCL and of heddle.
void check_settings(const HostFacts& facts, Findings& findings);
// The tuner's figures, the folder of recordings.
void check_options(const HostFacts& facts, Findings& findings);
// Interfaces one by one, and what only several of them can have.
void check_interfaces(const HostFacts& facts, Findings& findings);
void check_several(const HostFacts& facts, const std::vector<Nic>& chosen, Findings& findings);
// Sockets, limits, cores, keys, firewalls.
void check_host(const HostFacts& facts, Findings& findings);

}  // namespace heddle::nccl::doctor
