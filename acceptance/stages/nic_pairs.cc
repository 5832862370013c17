// See nic_pairs.h.
#include "acceptance/stages/nic_pairs.h"

#include <algorithm>
#include <set>

namespace heddle::acceptance {
namespace {

const HostNic* nic_named(const std::vector<HostNic>& nics, const std::string& device) {
  const auto found = std::find_if(nics.begin(), nics.end(),
                                  [&](const HostNic& each) { return each.device == device; });
  return found == nics.end() ? nullptr : &*found;
}

uint32_t place_in(const std::vector<HostNic>& nics, const HostNic& nic) {
  return static_cast<uint32_t>(&nic - nics.data());
}

}  // namespace

std::vector<std::vector<HostNic>> nics_of(const Fabric& fabric) {
  std::vector<std::vector<HostNic>> nics;
  for (uint32_t i = 0; i < fabric.topology().hosts.size(); ++i) nics.push_back(fabric.nics(i));
  return nics;
}

std::map<std::string, std::vector<NicPair>> nic_pairs(const std::vector<std::vector<HostNic>>& nics,
                                                      const std::vector<HostPair>& pairs) {
  std::map<std::string, std::vector<NicPair>> made;
  for (const HostPair& pair : pairs) {
    for (const HostNic& from : nics[pair.from]) {
      const HostNic* const to = nic_named(nics[pair.to], from.device);
      if (to == nullptr || from.address == to->address) continue;
      const bool first = &from == &nics[pair.from].front() && to == &nics[pair.to].front();
      if (!first) {
        const NicNumbers numbers{place_in(nics[pair.from], from), place_in(nics[pair.to], *to)};
        made[from.device].push_back({{pair.from, pair.to, numbers}, from, *to});
      }
    }
  }
  return made;
}

std::map<std::string, std::vector<uint32_t>> hosts_without_nic(
    const std::vector<std::vector<HostNic>>& nics) {
  std::set<std::string> further;
  for (const std::vector<HostNic>& host : nics) {
    for (const HostNic& nic : host) {
      if (&nic != &host.front()) further.insert(nic.device);
    }
  }
  std::map<std::string, std::vector<uint32_t>> lacking;
  for (const std::string& device : further) {
    for (uint32_t host = 0; host < nics.size(); ++host) {
      if (nic_named(nics[host], device) == nullptr) lacking[device].push_back(host);
    }
  }
  return lacking;
}

}  // namespace heddle::acceptance
