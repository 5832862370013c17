// See nic_addresses.h.
#include "acceptance/machine/nic_addresses.h"

#include <system_error>

#include "acceptance/machine_texts.h"
#include "acceptance/params.h"

namespace heddle::acceptance {
namespace {

std::string text_at(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json list_at(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_array() ? *found : Json::array();
}

bool has_hardware(const std::filesystem::path& sys, const std::string& device) {
  std::error_code failed;
  return std::filesystem::exists(sys / "class/net" / device / "device", failed);
}

bool is_reachable(const Json& address) {
  return text_at(address, "scope") == "global" && !address.contains("temporary") &&
         !text_at(address, "local").starts_with("169.254.");
}

// Of those of IPv4 and IPv6 alone: it becomes a word of commands.
bool is_in_digits(const std::string& text) {
  return text.size() <= params::kMostAddressLetters &&
         text.find_first_of(".:") != std::string::npos &&
         text.find_first_not_of("0123456789abcdefABCDEF.:") == std::string::npos;
}

}  // namespace

std::string device_with(const Json& devices, const std::string& address) {
  if (!devices.is_array()) return {};
  for (const Json& device : devices) {
    for (const Json& each : list_at(device, "addr_info")) {
      if (text_at(each, "local") == address) return text_at(device, "ifname");
    }
  }
  return {};
}

std::vector<NicAddress> nic_addresses(const Json& devices, const std::filesystem::path& sys,
                                      const std::string& tested) {
  std::vector<NicAddress> addresses;
  if (!devices.is_array()) return addresses;
  const bool hardware = has_hardware(sys, tested);
  for (const Json& device : devices) {
    const std::string name = text_at(device, "ifname");
    if (name.empty() || device.contains("master") || has_hardware(sys, name) != hardware) continue;
    const bool leads_out = device.contains("link") || device.contains("link_index");
    if (!hardware && !leads_out && name != tested) continue;
    for (const Json& each : list_at(device, "addr_info")) {
      if (is_reachable(each)) addresses.push_back({name, text_at(each, "local")});
    }
  }
  return addresses;
}

Json json_of(const std::vector<NicAddress>& addresses) {
  Json document = Json::array();
  for (const NicAddress& each : addresses) {
    document.push_back({{"device", each.device}, {"address", each.address}});
  }
  return document;
}

std::vector<NicAddress> nic_addresses_in(const Json& document, IpVersion version) {
  std::vector<NicAddress> addresses;
  if (!document.is_array()) return addresses;
  for (const Json& each : document) {
    if (addresses.size() == params::kMostNics) break;
    NicAddress made{text_at(each, "device"), text_at(each, "address")};
    if (!is_machine_name(made.device) || !is_in_digits(made.address)) continue;
    if (version_of(made.address) == version) addresses.push_back(std::move(made));
  }
  return addresses;
}

}  // namespace heddle::acceptance
