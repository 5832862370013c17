// See file_text.h.
#include "topology/file_text.h"

#include <fmt/core.h>

#include <vector>

#include "topology/file.h"

namespace heddle::topology {
namespace {

// With the NIC's number, also where the host has one only.
std::string end_text(const Topology& topology, const Node& end) {
  const std::string& name = node_name(topology, end);
  if (end.kind == NodeKind::kSwitch) return name;
  return fmt::format("{}.{}", name, nic_number(topology, end.index));
}

std::string rate_text(BitsPerSec rate) {
  return rate.count == 0 ? "unlimited" : fmt::format("{}bit/s", rate.count);
}

std::string balancing_text(const SwitchShape& shape) {
  if (shape.balancing == Balancing::kEcmp) return "";
  std::string text = fmt::format("balancing = \"{}\"\n", name_of(shape.balancing));
  if (shape.balancing == Balancing::kFlowlet) {
    text += fmt::format("flowlet_gap = \"{}ns\"\n", shape.flowlet_gap.count);
  }
  return text;
}

std::string shape_text(const SwitchShape& shape) {
  std::string text;
  if (shape.buffer.count > 0) {
    text += fmt::format("buffer = \"{}B\"\nalpha = \"{}/{}\"\nreserve = \"{}B\"\n",
                        shape.buffer.count, shape.alpha, shape.alpha_divisor, shape.reserve.count);
  }
  if (shape.trims) text += "trimming = true\n";
  if (shape.lossless) {
    text += fmt::format("pfc = true\nxoff = \"{}B\"\nxon = \"{}B\"\n", shape.xoff.count,
                        shape.xon.count);
  }
  return text + balancing_text(shape);
}

std::string ecn_text(const LinkShape& shape) {
  if (shape.ecn_threshold.count == UINT64_MAX) return "";
  const uint64_t least = shape.ecn_threshold.count;
  if (shape.ecn_ramp.count == 0) return fmt::format("ecn_threshold = \"{}B\"\n", least);
  return fmt::format("ecn_min = \"{}B\"\necn_max = \"{}B\"\necn_max_probability = \"{}.{:04}%\"\n",
                     least, least + shape.ecn_ramp.count, shape.ecn_ramp_per_million / 10'000,
                     shape.ecn_ramp_per_million % 10'000);
}

std::string link_text(const Topology& topology, const Link& link) {
  return fmt::format(
             "\n[[link]]\nends = [\"{}\", \"{}\"]\nrate = \"{}\"\nqueue = \"{}B\"\n"
             "delay = \"{}ns\"\nmtu = {}\n",
             end_text(topology, link.a), end_text(topology, link.b), rate_text(link.shape.rate),
             link.shape.queue.count, link.shape.delay.count, link.shape.mtu_bytes) +
         ecn_text(link.shape);
}

}  // namespace

std::string topology_text(const Topology& topology) {
  std::string text = fmt::format("version = {}\n", kTopologyFileVersion);
  std::vector<uint32_t> nics(topology.hosts.size());
  for (const Nic& nic : topology.nics) ++nics[nic.host];
  for (uint32_t host = 0; host < topology.hosts.size(); ++host) {
    text += fmt::format("\n[[host]]\nname = \"{}\"\nnics = {}\n", topology.hosts[host].name,
                        nics[host]);
  }
  for (const Switch& each : topology.switches) {
    text += fmt::format("\n[[switch]]\nname = \"{}\"\nhash_seed = {}\n{}", each.name,
                        each.hash_seed & INT64_MAX, shape_text(each.shape));
  }
  for (const Link& link : topology.links) text += link_text(topology, link);
  return text;
}

}  // namespace heddle::topology
