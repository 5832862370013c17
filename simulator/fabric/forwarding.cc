// Forwarding: see forwarding.h.
#include "simulator/fabric/forwarding.h"

#include <span>

namespace heddle::simulator {

Forwarding::Forwarding(const topology::Topology& topology, std::vector<Link>& links,
                       Outlets& outlets, uint64_t seed)
    : topology_(topology),
      routes_(topology),
      balancer_(topology, links, outlets, seed),
      noticed_down_(2 * topology.links.size()) {
  for (const topology::Switch& each : topology.switches) hash_seeds_.push_back(each.hash_seed);
}

LinkId Forwarding::next_link(Nanos now, uint32_t switch_index, const Packet& packet) {
  std::span<const LinkId> choices = routes_.next_links(switch_index, packet.to_nic);
  if (noticed_ > 0) {
    live_choices_.clear();
    for (const LinkId link : choices) {
      if (noticed_down_[link] == 0) live_choices_.push_back(link);
    }
    choices = live_choices_;
  }
  if (choices.empty()) return kNoIndex;
  if (balancer_.balances(switch_index)) {
    return balancer_.choose(now, switch_index, choices, packet);
  }
  const auto count = static_cast<uint32_t>(choices.size());
  return choices[Routes::choose(count, hash_seeds_[switch_index], packet)];
}

bool Forwarding::note_down(LinkId link, bool down) {
  if (noticed_down_[link] == static_cast<uint8_t>(down)) return false;
  noticed_ += static_cast<uint32_t>(down) - noticed_down_[link];
  noticed_down_[link] = down;
  return true;
}

}  // namespace heddle::simulator
