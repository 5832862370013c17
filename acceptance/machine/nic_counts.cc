// See nic_counts.h.
#include "acceptance/machine/nic_counts.h"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "acceptance/machine_texts.h"
#include "acceptance/params.h"
#include "lab/tool.h"
#include "nodes/counted.h"
#include "nodes/rdma_ports.h"
#include "nodes/tree_files.h"

namespace heddle::acceptance {
namespace {

using nodes::names_in;
using nodes::rdma_counters;
using nodes::rdma_ports;
using nodes::RdmaPort;

bool is_kept(const std::string& name) {
  return name.find("error") != std::string::npos || name == "dropped" ||
         name == "carrier_changes" || name == "bytes";
}

// None where the document has no flags.
std::optional<bool> carrier_of(const Json& link) {
  const auto flags = link.find("flags");
  if (flags == link.end() || !flags->is_array()) return std::nullopt;
  return std::find(flags->begin(), flags->end(), Json("LOWER_UP")) != flags->end();
}

// `heading`: "rx" or "tx".
void add_counts(const Json& stats, const std::string& heading, NicCounts& nic) {
  const auto found = stats.find(heading);
  if (found == stats.end() || !found->is_object()) return;
  for (const auto& [name, value] : found->items()) {
    if (!is_kept(name) || !value.is_number_unsigned()) continue;
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
    nic.carrier = carrier_of(link);
    nics.push_back(std::move(nic));
  }
  return nics;
}

std::vector<std::string> devices_below(const std::filesystem::path& sys,
                                       const std::string& device) {
  std::vector<std::string> all = {device};
  for (size_t at = 0; at < all.size(); ++at) {
    if (all[at].empty()) continue;
    for (const std::string& name : names_in(sys / "class/net" / all[at])) {
      constexpr std::string_view kLower = "lower_";
      if (!name.starts_with(kLower)) continue;
      const std::string lower = name.substr(kLower.size());
      if (std::find(all.begin(), all.end(), lower) == all.end()) all.push_back(lower);
    }
  }
  all.erase(all.begin());
  return all;
}

std::vector<NicCounts> own_nic_counts(const std::string& device) {
  const std::filesystem::path devices = "/sys/class/net";
  const std::vector<std::string> below = devices_below("/sys", device);
  std::vector<std::string> names;
  for (const std::string& name : names_in(devices)) {
    std::error_code failed;
    const bool has_hardware = std::filesystem::exists(devices / name / "device", failed);
    const bool is_below = std::find(below.begin(), below.end(), name) != below.end();
    if (has_hardware || is_below || name == device) names.push_back(name);
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
    NicCounts nic{now.device, now.is_rdma, {}, now.carrier};
    for (const auto& [name, count] : now.counts) {
      const auto found = then->counts.find(name);
      if (found == then->counts.end()) continue;
      const uint64_t more = nodes::counted_since(found->second, count);
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
    if (nic.carrier) document.back()["carrier"] = *nic.carrier;
  }
  return document;
}

// Labels of metrics and rows are made of the names.
std::vector<NicCounts> nic_counts_in(const Json& document) {
  std::vector<NicCounts> nics;
  if (!document.is_array()) return nics;
  for (const Json& each : document) {
    if (nics.size() == params::kMostNics) break;
    if (!each.is_object() || !each.contains("device") || !each.contains("counts")) continue;
    if (!each.at("device").is_string() || !each.at("counts").is_object()) continue;
    NicCounts nic{.device = each.at("device").get<std::string>()};
    if (!is_machine_name(nic.device)) continue;
    nic.is_rdma = each.contains("rdma") && each.at("rdma") == true;
    const auto carrier = each.find("carrier");
    if (carrier != each.end() && carrier->is_boolean()) nic.carrier = carrier->get<bool>();
    for (const auto& [name, value] : each.at("counts").items()) {
      if (nic.counts.size() == params::kMostCounters) break;
      if (is_machine_name(name) && value.is_number_unsigned()) {
        nic.counts[name] = value.get<uint64_t>();
      }
    }
    nics.push_back(std::move(nic));
  }
  return nics;
}

}  // namespace heddle::acceptance
