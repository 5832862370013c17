// Stack: interfaces over interfaces (bonds, VLANs, bridges), and the identity that each has from
// the port below it: PCI path, guid, port number.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "nccl/nics/sysfs.h"

namespace heddle::nccl::nics {

class Stack {
 public:
  explicit Stack(std::string sysfs) : sysfs_(std::move(sysfs)) {}

  // Reads the interface and those below it. One whose index differs from `index` belongs to another
  // network namespace and is taken as not found; 0: any.
  const SysfsNic& add(const std::string& name, uint32_t index);

  // The interface that `name` sends over: the first below it (depth first) with a PCI device; if
  // none has one, the parent of a VLAN, a bond's first slave, else itself.
  const std::string& port_interface(const std::string& name) const;
  // Facts of an added interface; without `found` for any other name.
  const SysfsNic& facts(const std::string& name) const;
  // Speed in Mb/s of the interface or of the first below it that reports one; 0: none does. A
  // driver without hardware (veth) reports an arbitrary speed, which does not count.
  int speed_mbits(const std::string& name) const;
  // The same for all ports of a chip; differs between chips and between hosts; never 0.
  uint64_t guid(const std::string& name) const;
  // From 1, in the order of PCI functions and their ports; 1 without a PCI device.
  int port(const std::string& name) const;

 private:
  const std::string* first_with_pci(const std::string& name, int depth) const;

  std::string sysfs_;
  std::map<std::string, SysfsNic> nics_;
};

}  // namespace heddle::nccl::nics
