// RDMA of a machine, from a tree as /sys has it: which GID each port offers for RoCE v2 over IPv4,
// and the ports' hardware counters, since RoCE bypasses those of the kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace heddle::nodes {

struct RdmaPort {
  std::string device;  // "mlx5_0"
  std::string port;    // "1"
  std::filesystem::path folder;

  std::string name() const { return device + " port " + port; }
};

std::vector<RdmaPort> rdma_ports(const std::filesystem::path& sys);

// "8 x RoCE v2 of IPv4 at 3"; "no RDMA devices".
std::string gids_text(const std::vector<RdmaPort>& ports);

// By name: those of hw_counters, and of counters, which more devices have.
std::map<std::string, uint64_t> rdma_counters(const RdmaPort& port);

// Whether a healthy fabric leaves the counter at zero: errors, retransmissions and timeouts.
bool is_error_counter(const std::string& name);

}  // namespace heddle::nodes
