// See nic_counts.h.
#include "acceptance/machine/nic_counts.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "acceptance/link_watch.h"
#include "acceptance/machine/rdma.h"
#include "acceptance/machine/tree_files.h"
#include "lab/tool.h"

namespace heddle::acceptance {
namespace {

bool is_judged(const std::string& name) {
  return name.find("error") != std::string::npos || name == "dropped" || name == "carrier_changes";
}

// `heading`: "rx" or "tx".
void add_counts(const Json& stats, const std::string& heading, NicCounts& nic) {
  const auto found = stats.find(heading);
  if (found == stats.end() || !found->is_object()) return;
  for (const auto& [name, value] : found->items()) {
    if (!is_judged(name) || !value.is_number_unsigned()) continue;
    nic.counts[name == "carrier_changes" ? name : heading + "_" + name] = value.get<uint64_t>();
  }
}

const NicCounts* find(const std::vector<NicCounts>& nics, const NicCounts& wanted) {
  const auto found = std::find_if(nics.begin(), nics.end(), [&](const NicCounts& each) {
    return each.device == wanted.device && each.is_rdma == wanted.is_rdma;
  });
  return found == nics.end() ? nullptr : &*found;
}

}  // namespace

std::vector<NicCounts> nic_counts_of(const std::string& links,
                                     const std::vector<std::string>& devices) {
  std::vector<NicCounts> nics;
  const Json document = Json::parse(links, nullptr, false);
  if (!document.is_array()) return nics;
  for (const Json& link : document) {
    if (!link.is_object() || !link.contains("ifname") || !link.contains("stats64")) continue;
    const Json& name = link.at("ifname");
    const Json& stats = link.at("stats64");
    if (!name.is_string() || !stats.is_object()) continue;
    NicCounts nic{.device = name.get<std::string>()};
    if (std::find(devices.begin(), devices.end(), nic.device) == devices.end()) continue;
    add_counts(stats, "rx", nic);
    add_counts(stats, "tx", nic);
    nics.push_back(std::move(nic));
  }
  return nics;
}

std::vector<NicCounts> own_nic_counts(const std::string& device) {
  const std::filesystem::path devices = "/sys/class/net";
  std::vector<std::string> names;
  for (const std::string& name : names_in(devices)) {
    std::error_code failed;
    const bool has_hardware = std::filesystem::exists(devices / name / "device", failed);
    if (has_hardware || name == device) names.push_back(name);
  }
  const auto links = lab::run_tool({"ip", "-j", "-s", "-s", "link", "show"});
  return links ? nic_counts_of(*links, names) : std::vector<NicCounts>();
}

std::vector<NicCounts> rdma_counts(const std::filesystem::path& sys) {
  std::vector<NicCounts> ports;
  for (const RdmaPort& port : rdma_ports(sys)) {
    ports.push_back({port.name(), true, rdma_counters(port)});
  }
  return ports;
}

std::vector<NicCounts> grown(const std::vector<NicCounts>& before,
                             const std::vector<NicCounts>& after) {
  std::vector<NicCounts> made;
  for (const NicCounts& now : after) {
    const NicCounts* const then = find(before, now);
    if (then == nullptr) continue;
    NicCounts nic{now.device, now.is_rdma, {}};
    for (const auto& [name, count] : now.counts) {
      const auto found = then->counts.find(name);
      if (found == then->counts.end()) continue;
      const uint64_t more = counted_since(found->second, count);
      if (more > 0) nic.counts[name] = more;
    }
    made.push_back(std::move(nic));
  }
  return made;
}

Json json_of(const std::vector<NicCounts>& nics) {
  Json document = Json::array();
  for (const NicCounts& nic : nics) {
    document.push_back({{"device", nic.device}, {"rdma", nic.is_rdma}, {"counts", nic.counts}});
  }
  return document;
}

std::vector<NicCounts> nic_counts_in(const Json& document) {
  std::vector<NicCounts> nics;
  if (!document.is_array()) return nics;
  for (const Json& each : document) {
    if (!each.is_object() || !each.contains("device") || !each.contains("counts")) continue;
    if (!each.at("device").is_string() || !each.at("counts").is_object()) continue;
    NicCounts nic{.device = each.at("device").get<std::string>()};
    nic.is_rdma = each.contains("rdma") && each.at("rdma") == true;
    for (const auto& [name, value] : each.at("counts").items()) {
      if (value.is_number_unsigned()) nic.counts[name] = value.get<uint64_t>();
    }
    nics.push_back(std::move(nic));
  }
  return nics;
}

}  // namespace heddle::acceptance
