// What sysfs has about one interface (/sys/class/net/NAME). Missing files leave a field at its
// default: virtual interfaces have few of them, and a container may have none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::nccl::nics {

struct SysfsNic {
  bool found = false;
  uint32_t index = 0;
  uint32_t mtu_bytes = 0;
  int speed_mbits = 0;  // 0: none reported
  int dev_port = 0;     // of a PCI function with several ports, from 0
  std::string mac;      // "02:fc:00:00:00:01"; empty: none, or all zero
  bool has_device = false;
  std::string pci_path;  // real path of its PCI function; empty: none
  std::string chip;      // domain, bus and device of the chip, of a virtual function its physical's
  int numa_node = -1;
  bool rdma = false;
  std::string driver;
  std::string kind;                // as in Nic
  std::vector<std::string> lower;  // a bond's slaves in its order, else by name
};

// Reads the interface `name` below the sysfs root `sysfs`.
SysfsNic read_sysfs_nic(const std::string& sysfs, const std::string& name);

// The part of a device's real path that ends with its last PCI function ("0000:3b:00.0"), without
// what drivers add below it (virtio0, usb1/1-1, mlx5_core.sf.4); empty if it has none.
std::string pci_part(const std::string& device_path);

}  // namespace heddle::nccl::nics
