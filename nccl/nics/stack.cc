// See stack.h.
#include "nccl/nics/stack.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/hash.h"
#include "nccl/params.h"

namespace heddle::nccl::nics {
const SysfsNic& Stack::add(const std::string& name, uint32_t index) {
  if (const auto known = nics_.find(name); known != nics_.end()) return known->second;
  SysfsNic nic = read_sysfs_nic(sysfs_, name);
  if (index != 0 && nic.index != index) nic = {};
  const auto place = nics_.emplace(name, std::move(nic)).first;
  const std::vector<std::string> lower = place->second.lower;
  for (const std::string& below : lower) add(below, 0);
  return place->second;
}

const SysfsNic& Stack::facts(const std::string& name) const {
  static const SysfsNic kNone;
  const auto known = nics_.find(name);
  return known == nics_.end() ? kNone : known->second;
}

const std::string* Stack::first_with_pci(const std::string& name, int depth) const {
  const auto known = nics_.find(name);
  if (known == nics_.end() || depth > params::kMaxStackDepth) return nullptr;
  if (!known->second.pci_path.empty()) return &known->first;
  for (const std::string& below : known->second.lower) {
    if (const std::string* found = first_with_pci(below, depth + 1)) return found;
  }
  return nullptr;
}

const std::string& Stack::port_interface(const std::string& name) const {
  if (const std::string* found = first_with_pci(name, 0)) return *found;
  const std::string* current = &name;
  for (int depth = 0; depth < params::kMaxStackDepth; ++depth) {
    const SysfsNic& nic = facts(*current);
    if (nic.lower.empty() || (nic.kind != "vlan" && nic.kind != "bond")) break;
    current = &nic.lower.front();
  }
  return *current;
}

int Stack::speed_mbits(const std::string& name) const {
  const SysfsNic& nic = facts(name);
  if (nic.speed_mbits != 0 && (nic.kind != "virtual" || !nic.lower.empty())) return nic.speed_mbits;
  const std::string& below = port_interface(name);
  if (below == name || facts(below).kind == "virtual") return 0;
  return facts(below).speed_mbits;
}

uint64_t Stack::guid(const std::string& name) const {
  const std::string& own = port_interface(name);
  const std::string& chip = facts(own).chip;
  std::string mac = facts(own).mac;
  if (chip.empty()) {
    const uint64_t guid = mix_bits(hash_text(mac.empty() ? "name " + own : "mac " + mac));
    return guid == 0 ? 1 : guid;
  }
  // PCI addresses are alike on all hosts of a cluster; the least MAC of the chip makes them differ.
  for (const auto& [other, nic] : nics_) {
    if (nic.chip == chip && !nic.mac.empty() && (mac.empty() || nic.mac < mac)) mac = nic.mac;
  }
  const uint64_t guid = mix_bits(hash_text("pci " + chip + " " + mac));
  return guid == 0 ? 1 : guid;
}

int Stack::port(const std::string& name) const {
  const SysfsNic& own = facts(port_interface(name));
  if (own.chip.empty()) return 1;
  std::set<std::pair<std::string, int>> ports;
  for (const auto& [other, nic] : nics_) {
    if (nic.chip == own.chip) ports.emplace(nic.pci_path, nic.dev_port);
  }
  const auto place = ports.find({own.pci_path, own.dev_port});
  return 1 + static_cast<int>(std::distance(ports.begin(), place));
}

}  // namespace heddle::nccl::nics
