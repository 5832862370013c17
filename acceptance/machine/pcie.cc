// See pcie.h.
#include "acceptance/machine/pcie.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdint>
#include <system_error>

#include "nodes/tree_files.h"

namespace heddle::acceptance {
namespace {

using nodes::bytes_in;
using nodes::counted;
using nodes::names_in;
using nodes::number_in;
using nodes::text_in;

namespace fs = std::filesystem;

// Lanes that the kernel writes where a port has no link: all bits of the field are set.
constexpr double kNoLink = 63;

// Of the configuration space: PCI Express Base Specification, sections 7.6 and 7.7.
constexpr size_t kExtended = 0x100;  // where extended capabilities begin
constexpr uint16_t kAcsCapability = 0x000d;
constexpr size_t kAcsControl = 6;
constexpr unsigned kRedirects = 0x4 | 0x8;  // peer-to-peer requests, and completions
constexpr size_t kHeader = 64;              // all that others than root may read

// "0000:3b:00.0".
bool is_pci_name(const std::string& name) {
  constexpr std::string_view kShape = "xxxx:xx:xx.x";
  if (name.size() < kShape.size()) return false;
  const size_t extra = name.size() - kShape.size();  // a domain may be longer
  for (size_t i = 0; i < name.size(); ++i) {
    const char wanted = i < extra ? 'x' : kShape[i - extra];
    const bool fits =
        wanted == 'x' ? std::isxdigit(static_cast<unsigned char>(name[i])) != 0 : name[i] == wanted;
    if (!fits) return false;
  }
  return true;
}

int width_in(const fs::path& file) {
  const double lanes = number_in(file).value_or(0);
  return lanes > 0 && lanes < kNoLink ? static_cast<int>(lanes) : 0;
}

unsigned little_endian(std::string_view bytes, size_t at, size_t size) {
  unsigned value = 0;
  for (size_t i = size; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

}  // namespace

std::optional<fs::path> pci_device_of(const fs::path& folder) {
  std::error_code failed;
  const fs::path whole = fs::canonical(folder, failed);
  if (failed) return std::nullopt;
  for (fs::path at = whole; at.has_relative_path(); at = at.parent_path()) {
    if (is_pci_name(at.filename())) return at;
  }
  return std::nullopt;
}

std::optional<PcieLink> pcie_link_of(const fs::path& pci_device) {
  PcieLink link;
  link.width = width_in(pci_device / "current_link_width");
  link.most_width = width_in(pci_device / "max_link_width");
  link.speed = number_in(pci_device / "current_link_speed").value_or(0);
  link.most_speed = number_in(pci_device / "max_link_speed").value_or(0);
  if (link.width == 0) return std::nullopt;
  const fs::path above = pci_device.parent_path();
  if (is_pci_name(above.filename())) {
    link.slot_width = width_in(above / "max_link_width");
    link.slot_speed = number_in(above / "max_link_speed").value_or(0);
  }
  return link;
}

std::vector<fs::path> gpus_on_bus(const fs::path& sys) {
  std::vector<fs::path> gpus;
  const fs::path devices = sys / "bus/pci/devices";
  for (const std::string& name : names_in(devices)) {
    const fs::path device = devices / name;
    if (text_in(device / "vendor") != "0x10de") continue;
    const std::string kind = text_in(device / "class");  // display controllers: VGA, 3D
    if (!kind.starts_with("0x0300") && !kind.starts_with("0x0302")) continue;
    if (const auto whole = pci_device_of(device)) gpus.push_back(*whole);
  }
  return gpus;
}

Acs acs_of(std::string_view config) {
  if (config.size() <= kHeader) return Acs::kNotKnown;
  size_t at = kExtended;
  for (int hops = 0; hops < 64 && at >= kExtended && at + 8 <= config.size(); ++hops) {
    const unsigned head = little_endian(config, at, 4);
    if (head == 0 || head == UINT32_MAX) break;
    if ((head & 0xffff) == kAcsCapability) {
      const unsigned control = little_endian(config, at + kAcsControl, 2);
      return (control & kRedirects) != 0 ? Acs::kRedirects : Acs::kOff;
    }
    at = head >> 20;
  }
  return Acs::kNone;
}

std::set<fs::path> bridges_above(const fs::path& pci_device) {
  std::set<fs::path> bridges;
  for (fs::path at = pci_device.parent_path(); is_pci_name(at.filename()); at = at.parent_path()) {
    bridges.insert(at);
  }
  return bridges;
}

std::optional<AcsBridges> acs_bridges(const std::set<fs::path>& bridges, bool has_gpus) {
  AcsBridges found{bridges.size(), 0, has_gpus};
  for (const fs::path& bridge : bridges) {
    const Acs acs = acs_of(bytes_in(bridge / "config"));
    if (acs == Acs::kNotKnown) return std::nullopt;
    found.redirecting += acs == Acs::kRedirects ? 1 : 0;
  }
  return found;
}

std::string acs_text(const std::optional<AcsBridges>& bridges) {
  if (!bridges) return "not known: only root reads it";
  if (bridges->all == 0) return "no bridges above NICs and GPUs";
  if (bridges->redirecting == 0) return fmt::format("none of {} bridges redirects", bridges->all);
  return fmt::format(
      "{} of {} bridges redirect{}", bridges->redirecting, bridges->all,
      bridges->has_gpus ? ": traffic between GPUs and NICs goes through the root complex" : "");
}

std::string links_text(const std::vector<PcieLink>& links, bool of_gpus) {
  std::vector<std::string> texts;
  for (const PcieLink& link : links) {
    if (link.is_gpu != of_gpus || !link.tested) continue;
    texts.push_back(of_gpus || link.speed == 0
                        ? fmt::format("x{}", link.width)
                        : fmt::format("x{} at {:g} GT/s", link.width, link.speed));
  }
  return counted(texts);
}

}  // namespace heddle::acceptance
