// See addresses.h.
#include "apps/cli/plan/addresses.h"

#include <fmt/core.h>

#include <map>
#include <set>
#include <sstream>

#include "base/document.h"
#include "engine/addresses.h"
#include "lab/layout.h"

namespace heddle::cli {

namespace {

// One text for each address, however it is written.
std::string plain_text(const std::string& address) {
  const Result<transport::Address> parsed = engine::parse_address(address, 0);
  return parsed ? engine::address_text(*parsed) : address;
}

}  // namespace

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
  std::map<std::string, std::string> owner;  // by address
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string address;
    words >> address;
    for (std::string name; words >> name;) {
      if (known.count(name) == 0) continue;
      const std::string& other = owner.try_emplace(plain_text(address), name).first->second;
      if (other != name) {
        return fail(ErrorCode::kInvalid, "cannot use the addresses of " + file,
                    fmt::format("'{}' and '{}' both have {}", other, name, address),
                    "give each host and switch addresses of its own");
      }
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
