// See slowed_fabric.h.
#include "apps/cli/plan/advise/slowed_fabric.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "topology/switch_shape.h"

namespace heddle::cli {
namespace {

// What namespaces of a machine with two cores carry beside the ranks (bench/run beside_lab).
// Chosen. Range: 0.5 to 8 Gbit/s.
constexpr double kCarriedBits_per_s = 2e9;
constexpr uint64_t kLeastRate = 1'000;  // that a file can name

std::string end_text(const topology::Topology& topology, const topology::Node& end) {
  std::string text = topology::node_name(topology, end);
  if (end.kind == topology::NodeKind::kNic) {
    text += "." + std::to_string(topology::nic_number(topology, end.index));
  }
  return text;
}

}  // namespace

double slowing_of(const topology::Topology& topology) {
  double sum = 0;
  for (const topology::Link& link : topology.links) {
    const bool of_host =
        link.a.kind == topology::NodeKind::kNic || link.b.kind == topology::NodeKind::kNic;
    if (of_host) sum += static_cast<double>(link.shape.rate.count);
  }
  return std::max(1.0, std::ceil(sum / kCarriedBits_per_s));
}

std::string slowed_text(const topology::Topology& topology, double slowing) {
  std::string text = "version = 1\n";
  std::vector<uint32_t> nics(topology.hosts.size());
  for (const topology::Nic& nic : topology.nics) ++nics[nic.host];
  for (uint32_t host = 0; host < topology.hosts.size(); ++host) {
    text +=
        fmt::format("[[host]]\nname = \"{}\"\nnics = {}\n", topology.hosts[host].name, nics[host]);
  }
  for (const topology::Switch& each : topology.switches) {
    text += fmt::format("[[switch]]\nname = \"{}\"\nhash_seed = {}\n", each.name,
                        each.hash_seed & INT64_MAX);
  }
  for (const topology::Link& link : topology.links) {
    const auto rate = static_cast<uint64_t>(static_cast<double>(link.shape.rate.count) / slowing);
    text += fmt::format(
        "[[link]]\nends = [\"{}\", \"{}\"]\nrate = \"{}bit/s\"\nqueue = \"{}B\"\ndelay = "
        "\"{}ns\"\nmtu = {}\n",
        end_text(topology, link.a), end_text(topology, link.b), std::max(rate, kLeastRate),
        link.shape.queue.count, link.shape.delay.count, link.shape.mtu_bytes);
  }
  return text;
}

}  // namespace heddle::cli
