// See machine_hosts.h. Hosts of a lab are network namespaces of one kernel, so names come first.
#include "insight/machine_hosts.h"

namespace heddle::insight {
namespace {

// The first word of the clock's name; empty: not known.
std::string boot_of(const Identity& identity) {
  const std::string clock = value_of(identity, "clock");
  return clock.substr(0, clock.find(' '));
}

}  // namespace

void MachineHosts::add(const Identity& process) {
  const std::string host = value_of(process, "host");
  const std::string boot = boot_of(process);
  hosts_.insert(host);
  if (!boot.empty()) by_boot_[boot].insert(host);
}

std::set<std::string> MachineHosts::of(const Identity& machine) const {
  const std::string own = value_of(machine, "host");
  const auto found = by_boot_.find(boot_of(machine));
  if (hosts_.contains(own) || found == by_boot_.end()) return {own};
  return found->second;
}

}  // namespace heddle::insight
