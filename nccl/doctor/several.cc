// Checks of what only several interfaces together can have: unequal MTUs, one subnet, one cable.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "nccl/doctor/checks.h"

namespace heddle::nccl::doctor {
namespace {

// Whether an address of one is in the subnet of an address of the other.
bool same_subnet(const InterfaceAddress& one, const InterfaceAddress& other) {
  if (one.link_local() || other.link_local() || one.ipv4() != other.ipv4()) return false;
  const uint32_t skipped = one.ipv4() ? 96 : 0;  // the bits of the mapped form
  const uint32_t bits = std::min(128U, skipped + std::min(one.prefix_bits, other.prefix_bits));
  for (uint32_t bit = 0; bit < bits; ++bit) {
    const uint8_t mask = static_cast<uint8_t>(0x80 >> (bit % 8));
    if (((one.host[bit / 8] ^ other.host[bit / 8]) & mask) != 0) return false;
  }
  return bits > skipped;
}

bool share_subnet(const Nic& one, const Nic& other) {
  return std::any_of(one.addresses.begin(), one.addresses.end(), [&](const auto& mine) {
    return std::any_of(other.addresses.begin(), other.addresses.end(),
                       [&](const auto& theirs) { return same_subnet(mine, theirs); });
  });
}

bool lies_over(const Nic& upper, const Nic& lower) {
  return std::find(upper.lower.begin(), upper.lower.end(), lower.name) != upper.lower.end();
}

// Whether each address that heddle uses of it has a rule of its own.
bool has_rule(const HostFacts& facts, const Nic& nic) {
  return std::any_of(nic.addresses.begin(), nic.addresses.end(), [&](const auto& address) {
    return std::find(facts.rules_from.begin(), facts.rules_from.end(), address.text) !=
           facts.rules_from.end();
  });
}

void check_pair(const HostFacts& facts, const Nic& one, const Nic& other, Findings& findings) {
  const std::string both = fmt::format("{} and {}", one.name, other.name);
  if (lies_over(one, other) || lies_over(other, one)) {
    findings.push_back({Grade::kWarn, "cable", fmt::format("{} lie over each other", both),
                        "NCCL plans with twice the bandwidth of one link",
                        "name only one of them in HEDDLE_IFNAME"});
  } else if (one.guid == other.guid && one.port == other.port) {
    findings.push_back({Grade::kWarn, "cable", fmt::format("{} send over the same port", both),
                        "they are two devices on one cable: neither bandwidth nor redundancy is "
                        "gained",
                        "name only one of them in HEDDLE_IFNAME"});
  } else if (one.guid == other.guid) {
    ok(findings, "cable", fmt::format("{} are ports of one chip and share its PCI link", both));
  }
  if (share_subnet(one, other) && !(has_rule(facts, one) && has_rule(facts, other))) {
    findings.push_back({Grade::kWarn, "subnet",
                        fmt::format("{} have addresses in one subnet", both),
                        "without a routing rule for each address all packets leave by one of them, "
                        "and both answer ARP for both",
                        "ip rule add from ADDRESS lookup TABLE for each, and sysctl -w "
                        "net.ipv4.conf.all.arp_ignore=1 "
                        "net.ipv4.conf.all.arp_announce=2"});
  }
}

void check_rules(const HostFacts& facts, const std::vector<Nic>& chosen, Findings& findings) {
  std::vector<std::string> without;
  for (const Nic& nic : chosen) {
    if (!has_rule(facts, nic)) without.push_back(nic.name);
  }
  if (!facts.rules_known || without.size() < 2) return;
  findings.push_back(
      {Grade::kWarn, "routing",
       fmt::format("{} have no routing rule for their addresses", fmt::join(without, ", ")),
       "packets to a host that several of them reach leave by the one that the main table names",
       "ip rule add from ADDRESS lookup TABLE for each, unless each has a network of its own"});
}

}  // namespace

void check_several(const HostFacts& facts, const std::vector<Nic>& chosen, Findings& findings) {
  if (chosen.size() < 2) return;
  std::set<uint32_t> mtus;
  std::string text;
  for (const Nic& nic : chosen) {
    mtus.insert(nic.mtu_bytes);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", nic.name, nic.mtu_bytes);
  }
  if (mtus.size() > 1) {
    findings.push_back(
        {Grade::kWarn, "mtu", fmt::format("MTUs differ: {}", text),
         "channels on the smaller MTU are slower, and each collective waits for them",
         "the same MTU on all NICs of a job"});
  }
  for (size_t i = 0; i < chosen.size(); ++i) {
    for (size_t j = i + 1; j < chosen.size(); ++j) {
      check_pair(facts, chosen[i], chosen[j], findings);
    }
  }
  check_rules(facts, chosen, findings);
}

}  // namespace heddle::nccl::doctor
