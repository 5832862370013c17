// Devices from NICs: see device.h.
#include "plugins/nccl/net/device.h"

#include <algorithm>

namespace heddle::nccl {

Device device_of(const Nic& nic, int index) {
  return {.name = nic.name,
          .pci_path = nic.pci_path,
          .guid = nic.guid,
          .speed_mbits = nic.speed_mbits,
          .port = nic.port,
          .latency_us = static_cast<float>(nic.latency_us),
          .rail = nic.rail,
          .plane = nic.plane,
          .members = {index},
          .interfaces = {nic.name}};
}

Device merge(const std::vector<Device>& devices, const std::vector<int>& members) {
  Device merged = devices[static_cast<size_t>(members.front())];
  merged.members = members;
  for (size_t i = 1; i < members.size(); ++i) {
    const Device& next = devices[static_cast<size_t>(members[i])];
    merged.name += "+" + next.name;
    merged.speed_mbits += next.speed_mbits;
    merged.latency_us = std::max(merged.latency_us, next.latency_us);
    if (next.rail != merged.rail) merged.rail = -1;
    if (next.plane != merged.plane) merged.plane = -1;
    merged.threads = std::max(merged.threads, next.threads);
    merged.interfaces.insert(merged.interfaces.end(), next.interfaces.begin(),
                             next.interfaces.end());
  }
  return merged;
}

}  // namespace heddle::nccl
