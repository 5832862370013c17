// PCIe: how wide and fast the links of a machine's NICs and GPUs are beside what they could be, and
// which bridges above them redirect peer-to-peer requests (ACS). Read from a tree as /sys has it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::acceptance {

// Widths are in lanes, speeds in GT/s a lane; 0: not known.
struct PcieLink {
  std::string name;  // "eth0", "GPU 0000:41:00.0"
  bool is_gpu = false;
  int width = 0;
  int most_width = 0;
  double speed = 0;
  double most_speed = 0;
  int slot_width = 0;  // most that the port above has
  double slot_speed = 0;
  bool tested = true;  // false: of a NIC that the test does not use

  bool operator==(const PcieLink&) const = default;
};

// The PCI device that this folder of a tree is, or is below; nothing behind a virtual device.
std::optional<std::filesystem::path> pci_device_of(const std::filesystem::path& folder);
// Nothing where the device has no PCIe link, as an emulated one.
std::optional<PcieLink> pcie_link_of(const std::filesystem::path& pci_device);
// Folders of the NVIDIA GPUs that the bus has, with a driver or without.
std::vector<std::filesystem::path> gpus_on_bus(const std::filesystem::path& sys);

// Whether a bridge redirects, by its configuration space.
enum class Acs { kNotKnown, kNone, kOff, kRedirects };
Acs acs_of(std::string_view config);
// The bridges between the root and a PCI device.
std::set<std::filesystem::path> bridges_above(const std::filesystem::path& pci_device);

// The bridges above the NICs and GPUs of a machine.
struct AcsBridges {
  size_t all = 0;
  size_t redirecting = 0;
  bool has_gpus = false;

  bool operator==(const AcsBridges&) const = default;
};
// None: not known, since only root reads it.
std::optional<AcsBridges> acs_bridges(const std::set<std::filesystem::path>& bridges,
                                      bool has_gpus);
// "3 of 4 bridges redirect".
std::string acs_text(const std::optional<AcsBridges>& bridges);

// "2 at x16, 16 GT/s; 1 at x8, 16 GT/s", of NICs those that are tested; of GPUs only widths. "none"
// without links.
std::string links_text(const std::vector<PcieLink>& links, bool of_gpus);

}  // namespace heddle::acceptance
