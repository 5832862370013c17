// See found.h.
#include "probing/found.h"

#include <algorithm>
#include <utility>

namespace heddle::probing {

std::string name_of(const FoundFabric& found, const Place& place) {
  if (!place.is_known()) return "?";
  if (place.kind == topology::NodeKind::kSwitch) return found.switches[place.index].name;
  const ProbedNic& nic = found.nics[place.index];
  return nic.number == 0 ? nic.host : nic.host + "." + std::to_string(nic.number);
}

std::string name_of(const FoundFabric& found, const Hop& hop) {
  return name_of(found, hop.from) + " -> " + name_of(found, hop.to);
}

void add_link(FoundFabric& found, FoundLink link) {
  found.link_numbers.emplace(std::minmax(link.a, link.b),
                             static_cast<uint32_t>(found.links.size()));
  found.links.push_back(std::move(link));
}

std::optional<uint32_t> link_between(const FoundFabric& found, const Place& one,
                                     const Place& other) {
  const auto at = found.link_numbers.find(std::minmax(one, other));
  return at == found.link_numbers.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace heddle::probing
