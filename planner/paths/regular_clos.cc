// See regular_clos.h.
#include "planner/paths/regular_clos.h"

namespace heddle::planner {

std::optional<RegularClos> RegularClos::find(const Fabric& fabric) {
  const size_t switches = fabric.topology().switches.size();
  std::vector<bool> is_leaf(switches);
  for (uint32_t nic = 0; nic < fabric.topology().nics.size(); ++nic) {
    if (fabric.switch_of(nic) == kNone) return std::nullopt;
    is_leaf[fabric.switch_of(nic)] = true;
  }
  RegularClos clos;
  clos.place_.resize(fabric.links());
  std::span<const LinkId> first;
  for (uint32_t leaf = 0; leaf < switches; ++leaf) {
    if (!is_leaf[leaf]) continue;
    const std::span<const LinkId> links = fabric.links_from(leaf);
    if (first.empty()) first = links;
    if (links.empty() || links.size() != first.size() || links.size() > UINT16_MAX) {
      return std::nullopt;
    }
    for (size_t i = 0; i < links.size(); ++i) {
      const bool equal = fabric.end_of(links[i]) == fabric.end_of(first[i]) &&
                         fabric.rate(links[i]) == fabric.rate(first[0]) && !fabric.down(links[i]) &&
                         !is_leaf[fabric.end_of(links[i])];
      if (!equal) return std::nullopt;
      clos.place_[links[i]] = static_cast<uint16_t>(i);
    }
  }
  clos.uplinks_ = static_cast<uint32_t>(first.size());
  return clos;
}

}  // namespace heddle::planner
