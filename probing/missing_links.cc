// See missing_links.h. Siblings are switches of a tier that share at least half of the switches
// above them.
#include "probing/missing_links.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "probing/params.h"

namespace heddle::probing {
namespace {

std::vector<std::set<uint32_t>> uplinks_of(const FoundFabric& found) {
  std::vector<std::set<uint32_t>> up(found.switches.size());
  for (const FoundLink& link : found.links) {
    const bool between = link.a.kind == topology::NodeKind::kSwitch &&
                         link.b.kind == topology::NodeKind::kSwitch && link.a.is_known() &&
                         link.b.is_known();
    if (!between) continue;
    const uint32_t a = found.switches[link.a.index].tier;
    const uint32_t b = found.switches[link.b.index].tier;
    if (a < b) up[link.a.index].insert(link.b.index);
    if (b < a) up[link.b.index].insert(link.a.index);
  }
  return up;
}

bool are_siblings(const std::set<uint32_t>& one, const std::set<uint32_t>& other) {
  std::set<uint32_t> both;
  std::set_intersection(one.begin(), one.end(), other.begin(), other.end(),
                        std::inserter(both, both.begin()));
  const size_t all = one.size() + other.size() - both.size();
  return all > 0 &&
         static_cast<double>(both.size()) >= params::kSiblingShare * static_cast<double>(all);
}

}  // namespace

void find_missing_links(FoundFabric& found) {
  const std::vector<std::set<uint32_t>> up = uplinks_of(found);
  for (uint32_t i = 0; i < found.switches.size(); ++i) {
    std::map<uint32_t, uint32_t> siblings_with;  // by the switch above
    uint32_t siblings = 0;
    for (uint32_t j = 0; j < found.switches.size(); ++j) {
      const bool same_tier = found.switches[i].tier == found.switches[j].tier;
      if (i == j || !same_tier || !are_siblings(up[i], up[j])) continue;
      ++siblings;
      for (const uint32_t above : up[j]) {
        if (!up[i].contains(above)) ++siblings_with[above];
      }
    }
    for (const auto& [above, count] : siblings_with) {
      if (count * 2 <= siblings || found.switches[above].addresses.empty()) continue;
      Finding finding{.kind = FindingKind::kMissing, .evidence = {}};
      finding.places = {{switch_place(i), switch_place(above)}};
      finding.certainty = Certainty::kGuessed;
      finding.evidence =
          fmt::format("{} of {} siblings are connected to it, no route takes it", count, siblings);
      found.findings.push_back(std::move(finding));
    }
  }
}

}  // namespace heddle::probing
