// NIC counts: counters of bytes, errors, drops and carrier changes of NICs, and of RDMA ports, and
// by how much they grew while a test ran.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "acceptance/report.h"

namespace heddle::acceptance {

struct NicCounts {
  std::string device;  // "eth0", "mlx5_0 port 1"
  bool is_rdma = false;
  // By the kernel's names: "rx_crc_errors", "tx_dropped", "carrier_changes", "out_of_sequence".
  std::map<std::string, uint64_t> counts;
  std::optional<bool> carrier = {};  // of a NIC

  bool operator==(const NicCounts&) const = default;
};

// Of these devices, from what `ip -j -s -s link` prints; those that it does not list are left out.
std::vector<NicCounts> nic_counts_of(const std::string& links,
                                     const std::vector<std::string>& devices);
// The devices below one, by the links of `sys`: members of a bond, the NIC of a VLAN, and theirs.
std::vector<std::string> devices_below(const std::filesystem::path& sys, const std::string& device);
// Of the network that this process is in: of `device` and those below it, and of all that have
// hardware.
std::vector<NicCounts> own_nic_counts(const std::string& device);
std::vector<NicCounts> rdma_counts(const std::filesystem::path& sys);

// What of `after` was counted since `before`; a NIC that is new, and counters that did not grow,
// are left out.
std::vector<NicCounts> grown(const std::vector<NicCounts>& before,
                             const std::vector<NicCounts>& after);

Json json_of(const std::vector<NicCounts>& nics);
// What has another shape, or a name that is not printable, is left out; so is what is beyond
// kMostNics and kMostCounters.
std::vector<NicCounts> nic_counts_in(const Json& document);

}  // namespace heddle::acceptance
