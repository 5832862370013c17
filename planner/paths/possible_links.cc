// See possible_links.h.
#include "planner/paths/possible_links.h"

#include <unordered_set>

namespace heddle::planner {

std::vector<uint8_t> possible_links(Fabric& fabric, std::span<const SwitchPair> pairs) {
  std::vector<uint8_t> taken(fabric.links());
  std::unordered_set<uint64_t> known;  // by switch and target
  std::vector<SwitchPair> open;
  for (const SwitchPair& pair : pairs) {
    if (pair.from == pair.to) continue;
    open.push_back(pair);
    while (!open.empty()) {
      const auto [at, target] = open.back();
      open.pop_back();
      if (!known.insert(uint64_t{at} << 32 | target).second) continue;
      for (const LinkId link : fabric.next(at, target)) {
        taken[link] = 1;
        if (fabric.end_of(link) != target) open.push_back({fabric.end_of(link), target});
      }
    }
  }
  return taken;
}

}  // namespace heddle::planner
