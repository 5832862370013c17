// NIC addresses: the NICs of a machine that others may reach, and their addresses.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "acceptance/machine_addresses.h"
#include "acceptance/report.h"

namespace heddle::acceptance {

struct NicAddress {
  std::string device;
  std::string address;  // in digits

  bool operator==(const NicAddress&) const = default;
};

// The device that has an address, of what `ip -j address` wrote; empty: none has it.
std::string device_with(const Json& devices, const std::string& address);

// Global addresses of the tested device and of those of its kind: NICs with hardware; where it has
// none itself, as in a container or of a bond, virtual ones that lead out of this network namespace
// or are on another device. No bridges, no parts of a bond, and no temporary addresses, nor those
// of 169.254.0.0/16, as of a port to the machine's own BMC.
std::vector<NicAddress> nic_addresses(const Json& devices, const std::filesystem::path& sys,
                                      const std::string& tested);

Json json_of(const std::vector<NicAddress>& addresses);
// Those of one IP version. What has another shape is left out.
std::vector<NicAddress> nic_addresses_in(const Json& document, IpVersion version);

}  // namespace heddle::acceptance
