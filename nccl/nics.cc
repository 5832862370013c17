// See nics.h.
#include "nccl/nics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nccl/nics/overrides.h"
#include "nccl/nics/stack.h"

namespace heddle::nccl {
namespace {

Nic nic_of(const HostInterface& interface, const nics::Stack& stack) {
  const nics::SysfsNic& facts = stack.facts(interface.name);
  const nics::SysfsNic& port = stack.facts(stack.port_interface(interface.name));
  Nic nic;
  nic.name = interface.name;
  nic.index = interface.index;
  nic.addresses = interface.addresses;
  nic.mtu_bytes = interface.mtu_bytes != 0 ? interface.mtu_bytes : facts.mtu_bytes;
  const int speed = stack.speed_mbits(interface.name);
  nic.speed_known = speed != 0;
  if (nic.speed_known) nic.speed_mbits = speed;
  nic.pci_path = port.pci_path;
  nic.guid = stack.guid(interface.name);
  nic.port = stack.port(interface.name);
  nic.up = interface.up;
  nic.carrier = interface.up && interface.running;
  nic.loopback = interface.loopback;
  nic.rdma = port.rdma;
  nic.numa_node = port.numa_node;
  nic.driver = port.driver;
  nic.kind = facts.kind.empty() ? "virtual" : facts.kind;
  nic.lower = facts.lower;
  return nic;
}

void apply(const nics::NicOverride& entry, Nic& nic) {
  nic.described = true;
  if (entry.speed_mbits) {
    nic.speed_mbits = *entry.speed_mbits;
    nic.speed_known = true;
  }
  nic.port = entry.port.value_or(nic.port);
  nic.rail = entry.rail.value_or(nic.rail);
  nic.plane = entry.plane.value_or(nic.plane);
  nic.latency_us = entry.latency_us.value_or(nic.latency_us);
}

Error none_left(const std::string& selection) {
  if (!selection.empty()) {
    return {ErrorCode::kUnavailable, "no network interface to use",
            fmt::format("HEDDLE_IFNAME={} matches none with a link and an address", selection),
            "'heddle nccl doctor' lists the interfaces"};
  }
  return {ErrorCode::kUnavailable, "no network interface to use",
          "none has a link and an address that is valid beyond the link",
          "'heddle nccl doctor' lists the interfaces"};
}

}  // namespace

Result<std::vector<Nic>> list_nics(const NicSources& sources) {
  std::vector<nics::NicOverride> overrides;
  if (!sources.file.empty()) {
    auto read = nics::read_overrides(sources.file);
    if (!read) return fail(read.error());
    overrides = std::move(*read);
  }
  nics::Stack stack(sources.sysfs);
  for (const HostInterface& interface : sources.interfaces) {
    stack.add(interface.name, interface.index);
  }
  std::vector<Nic> nics;
  nics.reserve(sources.interfaces.size());
  for (const HostInterface& interface : sources.interfaces) {
    nics.push_back(nic_of(interface, stack));
    for (const nics::NicOverride& entry : overrides) {
      if (entry.name == interface.name) apply(entry, nics.back());
    }
  }
  return nics;
}

Result<std::vector<Nic>> find_nics(const NicSources& sources) {
  if (const auto valid = check_selection(sources.selection); !valid) return fail(valid.error());
  auto all = list_nics(sources);
  if (!all) return all;
  std::vector<Nic> chosen = select_nics(std::move(*all), sources.selection);
  if (chosen.empty()) return fail(none_left(sources.selection));
  return chosen;
}

std::string nic_text(const Nic& nic) {
  std::string text = nic.name;
  if (!nic.addresses.empty()) text += " " + nic.addresses.front().text;
  text += fmt::format(", {} Mb/s{}, MTU {}", nic.speed_mbits, nic.speed_known ? "" : " (assumed)",
                      nic.mtu_bytes);
  if (!nic.pci_path.empty()) {
    text += ", " + nic.pci_path.substr(nic.pci_path.rfind('/') + 1);
  }
  if (nic.rail >= 0) text += fmt::format(", rail {}", nic.rail);
  if (nic.plane >= 0) text += fmt::format(", plane {}", nic.plane);
  return text;
}

}  // namespace heddle::nccl
