// Groups of links of equal cost: see link_groups.h.
#include "simulator/link_groups.h"

#include <algorithm>
#include <set>
#include <span>

namespace heddle::simulator {

std::vector<LinkGroup> link_groups(const Network& network) {
  std::vector<LinkGroup> groups;
  const auto nics = static_cast<NicId>(network.topology().nics.size());
  for (uint32_t each = 0; each < network.topology().switches.size(); ++each) {
    std::set<std::vector<LinkId>> known;
    std::vector<LinkId> latest;  // most destinations share a group with the one before
    for (NicId nic = 0; nic < nics; ++nic) {
      const std::span<const LinkId> choices = network.routes().next_links(each, nic);
      if (choices.size() < 2) continue;
      if (std::equal(choices.begin(), choices.end(), latest.begin(), latest.end())) continue;
      latest.assign(choices.begin(), choices.end());
      std::vector<LinkId> sorted = latest;
      std::sort(sorted.begin(), sorted.end());
      known.insert(std::move(sorted));
    }
    for (const std::vector<LinkId>& links : known) groups.push_back({each, links});
  }
  return groups;
}

}  // namespace heddle::simulator
