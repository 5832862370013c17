// See found.h.
#include "probing/found.h"

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

std::optional<uint32_t> link_between(const FoundFabric& found, const Place& one,
                                     const Place& other) {
  for (uint32_t i = 0; i < found.links.size(); ++i) {
    const FoundLink& link = found.links[i];
    if ((link.a == one && link.b == other) || (link.a == other && link.b == one)) return i;
  }
  return std::nullopt;
}

}  // namespace heddle::probing
