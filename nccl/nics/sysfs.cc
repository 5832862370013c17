// See sysfs.h.
#include "nccl/nics/sysfs.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "nccl/params.h"

namespace heddle::nccl::nics {
namespace {

namespace fs = std::filesystem;

// The first line of a file; empty where there is none (reading fails for many virtual interfaces).
std::string line_of(const fs::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

int number_of(const fs::path& path, int fallback) {
  const std::string line = line_of(path);
  int number = fallback;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  return error == std::errc{} ? number : fallback;
}

std::string real_path(const fs::path& path) {
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  return failed ? std::string() : real.string();
}

bool all_hex(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char each) { return std::isxdigit(each) != 0; });
}

// "0000:3b:00.0": a domain of at least 4 digits (virtual machines have longer ones), bus, device
// and function.
bool is_pci_function(std::string_view part) {
  constexpr size_t kAfterDomain = 8;  // ":3b:00.0"
  if (part.size() < 4 + kAfterDomain) return false;
  const size_t domain = part.size() - kAfterDomain;
  const std::string_view rest = part.substr(domain);
  return all_hex(part.substr(0, domain)) && rest[0] == ':' && all_hex(rest.substr(1, 2)) &&
         rest[3] == ':' && all_hex(rest.substr(4, 2)) && rest[6] == '.' && all_hex(rest.substr(7));
}

// Without the function: ports of one chip are functions of one device. A virtual function belongs
// to the chip of its physical one.
std::string chip_of(const std::string& pci_path) {
  const std::string physical = pci_part(real_path(fs::path(pci_path) / "physfn"));
  const std::string name = fs::path(physical.empty() ? pci_path : physical).filename();
  return name.substr(0, name.rfind('.'));
}

std::vector<std::string> lower_of(const fs::path& folder) {
  std::vector<std::string> names;
  std::istringstream slaves(line_of(folder / "bonding" / "slaves"));
  for (std::string slave; slaves >> slave;) names.push_back(slave);
  if (!names.empty()) return names;
  constexpr std::string_view kPrefix = "lower_";
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename();
    if (name.starts_with(kPrefix)) names.push_back(name.substr(kPrefix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string kind_of(const fs::path& folder, bool has_device) {
  if (has_device) return "physical";
  std::error_code failed;
  if (fs::exists(folder / "bonding", failed)) return "bond";
  std::ifstream file(folder / "uevent");
  for (std::string line; std::getline(file, line);) {
    if (line == "DEVTYPE=vlan") return "vlan";
    if (line == "DEVTYPE=bridge") return "bridge";
  }
  return "virtual";
}

}  // namespace

std::string pci_part(const std::string& device_path) {
  std::string path = device_path;
  while (!path.empty()) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) break;
    if (is_pci_function(std::string_view(path).substr(slash + 1))) return path;
    path.resize(slash);
  }
  return {};
}

SysfsNic read_sysfs_nic(const std::string& sysfs, const std::string& name) {
  const fs::path folder = fs::path(sysfs) / "class" / "net" / name;
  SysfsNic nic;
  nic.index = static_cast<uint32_t>(std::max(0, number_of(folder / "ifindex", 0)));
  nic.found = nic.index != 0;
  if (!nic.found) return nic;
  nic.mtu_bytes = static_cast<uint32_t>(std::max(0, number_of(folder / "mtu", 0)));
  const int speed = number_of(folder / "speed", 0);
  nic.speed_mbits = speed > 0 && speed <= params::kMaxSpeedMbits ? speed : 0;
  nic.dev_port = std::max(0, number_of(folder / "dev_port", 0));
  nic.mac = line_of(folder / "address");
  if (nic.mac.find_first_not_of("0:") == std::string::npos) nic.mac.clear();
  const std::string device = real_path(folder / "device");
  nic.has_device = !device.empty();
  nic.kind = kind_of(folder, nic.has_device);
  nic.lower = lower_of(folder);
  if (!nic.has_device) return nic;
  nic.pci_path = pci_part(device);
  if (!nic.pci_path.empty()) nic.chip = chip_of(nic.pci_path);
  nic.numa_node = std::max(
      -1, number_of(fs::path(nic.pci_path.empty() ? device : nic.pci_path) / "numa_node", -1));
  nic.driver = fs::path(real_path(fs::path(device) / "driver")).filename();
  std::error_code failed;
  nic.rdma = fs::exists(fs::path(device) / "infiniband", failed);
  return nic;
}

}  // namespace heddle::nccl::nics
