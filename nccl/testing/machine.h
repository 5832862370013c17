// Machine: a sysfs tree in a temporary folder and the interfaces that go with it, so that tests
// state odd hosts as data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/host_interface.h"
#include "nccl/nics.h"

namespace heddle::nccl {

// An address of the form a.b.c.d or, for link-local ones, "fe80::N".
InterfaceAddress address_of(const std::string& text, uint32_t prefix_bits = 24);

class Machine {
 public:
  explicit Machine(const std::string& name);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // An interface that is up, with a folder in sysfs, and an address if `address` is not empty. Its
  // index counts from 1.
  HostInterface& add(const std::string& name, const std::string& address);
  // The same without a folder in sysfs.
  HostInterface& add_hidden(const std::string& name, const std::string& address);
  // Makes /sys/class/net/NAME/device point at `device`, below /sys/devices.
  void set_device(const std::string& name, const std::string& device);
  // Makes `upper` lie over `lower`, as the kernel's lower_* links show it.
  void set_lower(const std::string& upper, const std::string& lower);
  // Writes a file; `path` is relative to the sysfs root.
  void write(const std::string& path, const std::string& text);
  // Makes `path` a link to `target`, both relative to the sysfs root.
  void link(const std::string& path, const std::string& target);
  // Writes class/net/NAME/FILE.
  void set(const std::string& name, const std::string& file, const std::string& text);

  std::string device_path(const std::string& device) const;
  NicSources sources;

 private:
  std::filesystem::path root_;
};

}  // namespace heddle::nccl
