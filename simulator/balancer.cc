// Flowlets, spraying and adaptive routing: see balancer.h.
#include "simulator/balancer.h"

#include <algorithm>

namespace heddle::simulator {

using topology::Balancing;

Balancer::Balancer(const topology::Topology& topology, std::vector<Link>& links, Outlets& outlets,
                   uint64_t seed)
    : links_(links), outlets_(outlets), random_(mix_bits(seed)) {
  const auto hashes = [](const topology::Switch& each) {
    return each.shape.balancing == Balancing::kEcmp;
  };
  if (std::all_of(topology.switches.begin(), topology.switches.end(), hashes)) return;
  for (const topology::Switch& each : topology.switches) {
    switches_.push_back(
        {each.shape.balancing, each.shape.flowlet_gap, mix_bits(each.hash_seed), {}});
  }
}

LinkId Balancer::choose(Nanos now, uint32_t switch_index, std::span<const LinkId> choices,
                        const Packet& packet) {
  if (choices.size() == 1) return choices.front();
  SwitchState& state = switches_[switch_index];
  if (state.mode == Balancing::kFlowlet) return of_flowlet(now, state, choices, packet);
  return state.mode == Balancing::kSpray ? any(choices) : shortest_queue(now, choices);
}

// Equal queues are chosen at random: otherwise switches that are idle would all use the first link.
LinkId Balancer::shortest_queue(Nanos now, std::span<const LinkId> choices) {
  uint64_t least = UINT64_MAX;
  uint32_t equal = 0;
  LinkId chosen = kNoIndex;
  for (const LinkId link : choices) {
    const uint64_t queued =
        outlets_.has(link) ? outlets_.queued_bytes(link) : links_[link].queued_bytes(now);
    if (queued > least) continue;
    if (queued < least) equal = 0;
    least = queued;
    if (random_.below(++equal) == 0) chosen = link;
  }
  return chosen;
}

LinkId Balancer::of_flowlet(Nanos now, SwitchState& state, std::span<const LinkId> choices,
                            const Packet& packet) {
  if (state.flowlets.empty()) state.flowlets.resize(kFlowletEntries);
  Flowlet& flowlet = state.flowlets[Routes::choose(kFlowletEntries, state.seed, packet)];
  const bool continues = flowlet.last >= Nanos{} && now - flowlet.last <= state.gap &&
                         std::find(choices.begin(), choices.end(), flowlet.link) != choices.end();
  if (!continues) flowlet.link = any(choices);
  flowlet.last = now;
  return flowlet.link;
}

}  // namespace heddle::simulator
