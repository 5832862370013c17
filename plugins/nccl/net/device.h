// Device: one network device as NCCL sees it: a NIC of the host, or several that NCCL merged into a
// virtual device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nccl/nics.h"

namespace heddle::nccl {

struct Device {
  std::string name;
  std::string pci_path;
  uint64_t guid = 0;
  int speed_mbits = 0;
  int port = 1;
  float latency_us = 0;
  int rail = -1;
  int plane = -1;
  std::vector<int> members;             // of a virtual device; else itself
  std::vector<std::string> interfaces;  // to which its endpoints bind
  int threads = 0;  // endpoints that a thread of its own drives; 0: one that NCCL's calls drive
};

// A device of one NIC, with index `index`.
Device device_of(const Nic& nic, int index);
// A virtual device of these devices: they are used together. Speeds add up.
Device merge(const std::vector<Device>& devices, const std::vector<int>& members);

}  // namespace heddle::nccl
