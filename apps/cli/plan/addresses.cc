// See addresses.h.
#include "apps/cli/plan/addresses.h"

#include <fmt/core.h>

#include <set>
#include <sstream>

#include "base/document.h"
#include "lab/layout.h"

namespace heddle::cli {

Result<NamedAddresses> lab_addresses(const topology::Topology& topology) {
  const Result<lab::Layout> layout = lab::make_layout("plan", topology);
  if (!layout) return fail(layout.error());
  NamedAddresses addresses;
  for (uint32_t nic = 0; nic < topology.nics.size(); ++nic) {
    const std::string& host = topology.hosts[topology.nics[nic].host].name;
    addresses.emplace(host, lab::nic_ipv4(*layout, nic));
    addresses.emplace(host, lab::nic_ipv6(*layout, nic));
  }
  for (uint32_t i = 0; i < topology.switches.size(); ++i) {
    addresses.emplace(topology.switches[i].name, lab::switch_ipv4(i));
    addresses.emplace(topology.switches[i].name, lab::switch_ipv6(i));
  }
  return addresses;
}

Result<NamedAddresses> read_addresses(const std::string& file, const topology::Topology& topology) {
  const Result<std::string> text = read_text_file(file, "check the path of the addresses");
  if (!text) return fail(text.error());
  std::set<std::string> missing;
  for (const topology::Host& host : topology.hosts) missing.insert(host.name);
  for (const topology::Switch& each : topology.switches) missing.insert(each.name);
  const std::set<std::string> known = missing;
  NamedAddresses addresses;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string address;
    words >> address;
    for (std::string name; words >> name;) {
      if (known.count(name) == 0) continue;
      addresses.emplace(name, address);
      missing.erase(name);
    }
  }
  if (missing.empty()) return addresses;
  return fail(ErrorCode::kInvalid, "cannot use the addresses of " + file,
              fmt::format("{} of the topology have none there, '{}' is one", missing.size(),
                          *missing.begin()),
              "write an address and a name in a line for each host and switch");
}

}  // namespace heddle::cli
