// Checks of each interface: state, address, MTU, speed.
#include <fmt/format.h>

#include <algorithm>

#include "nccl/doctor/checks.h"
#include "nccl/params.h"

namespace heddle::nccl::doctor {
namespace {

constexpr uint32_t kLeastMtuBytes = 1280;  // of IPv6 (RFC 8200, section 5), and of heddle

std::string unused_because(const Nic& nic) {
  if (!nic.up) return "it is down";
  if (!nic.carrier) return "it has no carrier";
  if (nic.addresses.empty()) return "it has no address";
  if (!usable(nic)) return "its only address is link-local";
  return "HEDDLE_IFNAME does not choose it";
}

bool is_chosen(const std::vector<Nic>& chosen, const Nic& nic) {
  return std::any_of(chosen.begin(), chosen.end(),
                     [&](const Nic& each) { return each.name == nic.name; });
}

// Whether another interface lies over it, which has the address in its place.
bool carries_another(const HostFacts& facts, const Nic& nic) {
  return std::any_of(facts.nics.begin(), facts.nics.end(), [&](const Nic& upper) {
    return std::find(upper.lower.begin(), upper.lower.end(), nic.name) != upper.lower.end();
  });
}

void check_unused(const HostFacts& facts, const Nic& nic, Findings& findings) {
  if (nic.kind != "physical" || carries_another(facts, nic)) return;
  ok(findings, "interface", fmt::format("{} is not used: {}", nic.name, unused_because(nic)));
}

const Nic* find_nic(const HostFacts& facts, const std::string& name) {
  for (const Nic& nic : facts.nics) {
    if (nic.name == name) return &nic;
  }
  return nullptr;
}

void check_mtu(const HostFacts& facts, const Nic& nic, Findings& findings) {
  if (nic.mtu_bytes == 0) return;
  if (nic.mtu_bytes < kLeastMtuBytes) {
    findings.push_back({Grade::kFail, "mtu",
                        fmt::format("{} has an MTU of {}", nic.name, nic.mtu_bytes),
                        fmt::format("heddle needs {}", kLeastMtuBytes),
                        fmt::format("ip link set {} mtu {}", nic.name, kLeastMtuBytes)});
  } else if (nic.mtu_bytes < params::kJumboMtuBytes && nic.speed_known &&
             nic.speed_mbits >= params::kFastNicMbits) {
    findings.push_back(
        {Grade::kWarn, "mtu",
         fmt::format("{} has an MTU of {} at {} Mb/s", nic.name, nic.mtu_bytes, nic.speed_mbits),
         "small packets cost CPU time, which limits the rate before the link does",
         fmt::format("an MTU of {} on all hosts and switches, if they can",
                     params::kJumboMtuBytes)});
  }
  for (const std::string& name : nic.lower) {
    const Nic* const below = find_nic(facts, name);
    if (below == nullptr || below->mtu_bytes == 0 || below->mtu_bytes >= nic.mtu_bytes) continue;
    findings.push_back({Grade::kFail, "mtu",
                        fmt::format("{} has an MTU of {}, {} below it {}", nic.name, nic.mtu_bytes,
                                    name, below->mtu_bytes),
                        "packets of the larger size are lost",
                        fmt::format("ip link set {} mtu {}", name, nic.mtu_bytes)});
  }
}

void check_chosen(const HostFacts& facts, const Nic& nic, Findings& findings) {
  ok(findings, "interface",
     fmt::format("{}, {}{}", nic_text(nic), nic.kind,
                 nic.driver.empty() ? "" : ", driver " + nic.driver));
  if (nic.loopback) {
    findings.push_back({Grade::kWarn, "interface", fmt::format("{} is loopback", nic.name),
                        "ranks of other hosts cannot connect",
                        "bring up the NIC of the training network, and name it in HEDDLE_IFNAME"});
    return;
  }
  if (!nic.speed_known) {
    findings.push_back(
        {Grade::kWarn, "speed",
         fmt::format("{} reports no speed; NCCL gets {} Mb/s", nic.name, nic.speed_mbits),
         "NCCL chooses algorithms and channels by it",
         "give speed_mbits in the file of HEDDLE_NCCL_NICS"});
  }
  check_mtu(facts, nic, findings);
}

bool leaves_loopback_alone(const HostFacts& facts, const std::vector<Nic>& chosen) {
  const auto loopback = [](const Nic& nic) { return nic.loopback; };
  return facts.selection.starts_with('^') && !chosen.empty() &&
         std::all_of(chosen.begin(), chosen.end(), loopback) &&
         std::any_of(facts.nics.begin(), facts.nics.end(),
                     [&](const Nic& nic) { return usable(nic) && !nic.loopback; });
}

// One file may serve hosts that differ, but then it has something for each.
void check_file(const HostFacts& facts, Findings& findings) {
  if (facts.nics_error) {
    fail(findings, "nics", *facts.nics_error);
    return;
  }
  const bool described = std::any_of(facts.nics.begin(), facts.nics.end(),
                                     [](const Nic& nic) { return nic.described; });
  if (facts.nics_file.empty() || described) return;
  findings.push_back({Grade::kWarn, "nics",
                      fmt::format("{} describes no interface of this host", facts.nics_file),
                      "its rails, planes and speeds have no effect here",
                      "correct the names in it: 'ip link' shows those of this host"});
}

Error nothing_chosen(const HostFacts& facts) {
  if (!facts.selection.empty()) {
    return {ErrorCode::kUnavailable,
            fmt::format("HEDDLE_IFNAME={} chooses no usable interface", facts.selection),
            "heddle has no device, and NCCL goes on to the next network or stops",
            "correct HEDDLE_IFNAME; the lines above name the interfaces"};
  }
  return {ErrorCode::kUnavailable, "no interface has a link and an address",
          "heddle has no device, and NCCL goes on to the next network or stops",
          "bring up the NIC of the training network: 'ip link' and 'ip address' show its state"};
}

}  // namespace

void check_interfaces(const HostFacts& facts, Findings& findings) {
  check_file(facts, findings);
  if (const auto valid = check_selection(facts.selection); !valid) {
    fail(findings, "interface", valid.error());
    return;
  }
  const std::vector<Nic> chosen = select_nics(facts.nics, facts.selection);
  for (const Nic& nic : facts.nics) {
    if (is_chosen(chosen, nic)) {
      check_chosen(facts, nic, findings);
    } else {
      check_unused(facts, nic, findings);
    }
  }
  if (chosen.empty() && !facts.nics_error) {
    const Error error = nothing_chosen(facts);
    fail(findings, "interface", error);
  } else if (leaves_loopback_alone(facts, chosen)) {
    findings.push_back({Grade::kFail, "interface",
                        fmt::format("HEDDLE_IFNAME={} leaves only loopback", facts.selection),
                        "ranks of other hosts cannot connect",
                        "exclude fewer interfaces; the lines above name them"});
  }
  check_several(facts, chosen, findings);
}

}  // namespace heddle::nccl::doctor
