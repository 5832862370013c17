// See machine.h.
#include "nccl/testing/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace heddle::nccl {

namespace fs = std::filesystem;

InterfaceAddress address_of(const std::string& text, uint32_t prefix_bits) {
  InterfaceAddress address;
  address.text = text;
  address.prefix_bits = prefix_bits;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (std::sscanf(text.c_str(), "%u.%u.%u.%u", &a, &b, &c, &d) == 4) {
    address.host[10] = address.host[11] = 0xff;
    address.host[12] = static_cast<uint8_t>(a);
    address.host[13] = static_cast<uint8_t>(b);
    address.host[14] = static_cast<uint8_t>(c);
    address.host[15] = static_cast<uint8_t>(d);
  } else {
    std::sscanf(text.c_str(), "fe80::%x", &d);
    address.host[0] = 0xfe;
    address.host[1] = 0x80;
    address.host[15] = static_cast<uint8_t>(d);
  }
  return address;
}

Machine::Machine(const std::string& name)
    : root_(fs::temp_directory_path() / fmt::format("heddle_machine_{}_{}", name, getpid())) {
  fs::remove_all(root_);
  fs::create_directories(root_ / "class" / "net");
  fs::create_directories(root_ / "devices");
  root_ = fs::canonical(root_);
  sources.sysfs = root_;
}

Machine::~Machine() { fs::remove_all(root_); }

HostInterface& Machine::add_hidden(const std::string& name, const std::string& address) {
  HostInterface& interface = sources.interfaces.emplace_back();
  interface.name = name;
  interface.index = static_cast<uint32_t>(sources.interfaces.size());
  interface.up = true;
  interface.running = true;
  interface.loopback = name == "lo";
  interface.mtu_bytes = 1500;
  if (!address.empty()) interface.addresses.push_back(address_of(address));
  return interface;
}

HostInterface& Machine::add(const std::string& name, const std::string& address) {
  HostInterface& interface = add_hidden(name, address);
  fs::create_directories(root_ / "class" / "net" / name);
  set(name, "ifindex", std::to_string(interface.index));
  set(name, "address", fmt::format("02:00:00:00:00:{:02x}", interface.index));
  return interface;
}

void Machine::set_device(const std::string& name, const std::string& device) {
  fs::create_directories(root_ / "devices" / device);
  link("class/net/" + name + "/device", "devices/" + device);
}

void Machine::set_lower(const std::string& upper, const std::string& lower) {
  link("class/net/" + upper + "/lower_" + lower, "class/net/" + lower);
}

void Machine::write(const std::string& path, const std::string& text) {
  fs::create_directories((root_ / path).parent_path());
  std::ofstream(root_ / path) << text << "\n";
}

void Machine::link(const std::string& path, const std::string& target) {
  fs::create_directories((root_ / path).parent_path());
  fs::create_symlink(root_ / target, root_ / path);
}

void Machine::set(const std::string& name, const std::string& file, const std::string& text) {
  write("class/net/" + name + "/" + file, text);
}

std::string Machine::device_path(const std::string& device) const {
  return (root_ / "devices" / device).string();
}

}  // namespace heddle::nccl
