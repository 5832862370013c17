// Routes between switches, computed on demand: see fabric.h.
#include "planner/paths/fabric.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/hash.h"

namespace heddle::planner {

using topology::EcmpKey;
using topology::NodeKind;

namespace {

constexpr uint16_t kFar = UINT16_MAX;

double bytes_per_ns(BitsPerSec rate) {
  if (rate.count == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(rate.count) / 8e9;
}

// Turns counts into the first index of each; the last is the sum.
void accumulate(std::vector<uint32_t>& counts) {
  std::exclusive_scan(counts.begin(), counts.end(), counts.begin(), 0U);
}

}  // namespace

Fabric::Fabric(const topology::Topology& topology, std::span<const uint32_t> failed)
    : topology_(topology),
      rates_(2 * topology.links.size()),
      down_(rates_.size()),
      between_(rates_.size()),
      from_switch_(rates_.size(), kNone),
      to_(rates_.size(), kNone),
      egress_(topology.nics.size(), kNone),
      switch_of_nic_(topology.nics.size(), kNone),
      first_nic_(topology.hosts.size() + 1),
      nics_(topology.nics.size()),
      first_out_(topology.switches.size() + 1),
      failed_at_(topology.switches.size()) {
  for (LinkId link = 0; link < links(); ++link) {
    const topology::Link& cable = topology.links[link / 2];
    const topology::Node& from = link % 2 == 0 ? cable.a : cable.b;
    const topology::Node& to = link % 2 == 0 ? cable.b : cable.a;
    rates_[link] = bytes_per_ns(cable.shape.rate);
    if (from.kind == NodeKind::kSwitch) from_switch_[link] = from.index;
    if (to.kind == NodeKind::kSwitch) to_[link] = to.index;
    between_[link] = from.kind == NodeKind::kSwitch && to.kind == NodeKind::kSwitch ? 1 : 0;
    if (from.kind == NodeKind::kNic) {
      egress_[from.index] = link;
      if (to.kind == NodeKind::kSwitch) switch_of_nic_[from.index] = to.index;
    } else if (to.kind == NodeKind::kSwitch) {
      ++first_out_[from.index];
    }
  }
  accumulate(first_out_);
  links_out_.resize(first_out_.back());
  std::vector<uint32_t> at = first_out_;
  for (LinkId link = 0; link < links(); ++link) {
    if (is_between_switches(link)) links_out_[at[from_switch_[link]]++] = link;
  }
  for (const topology::Nic& nic : topology.nics) ++first_nic_[nic.host];
  accumulate(first_nic_);
  at = first_nic_;
  for (uint32_t nic = 0; nic < topology.nics.size(); ++nic)
    nics_[at[topology.nics[nic].host]++] = nic;
  sort_neighbors();
  for (const uint32_t cable : failed) set_down(cable, true);
}

void Fabric::sort_neighbors() {
  const auto switches = static_cast<uint32_t>(topology_.switches.size());
  first_neighbor_.assign(size_t{switches} + 1, 0);
  class_.assign(switches, 0);
  links_to_ = links_out_;
  for (uint32_t i = 0; i < switches; ++i) {
    const auto begin = links_to_.begin() + first_out_[i];
    const auto end = links_to_.begin() + first_out_[i + 1];
    std::stable_sort(begin, end, [this](LinkId a, LinkId b) { return to_[a] < to_[b]; });
    first_neighbor_[i] = static_cast<uint32_t>(neighbors_.size());
    for (auto link = begin; link != end; ++link) {
      if (neighbors_.size() == first_neighbor_[i] || neighbors_.back().index != to_[*link]) {
        neighbors_.push_back({to_[*link], static_cast<uint32_t>(link - links_to_.begin()), 0});
        class_[i] = mix_bits(class_[i] + 0x9e3779b97f4a7c15 + to_[*link]);
      }
      ++neighbors_.back().count;
    }
  }
  first_neighbor_[switches] = static_cast<uint32_t>(neighbors_.size());
  links_back_.reserve(links_to_.size());
  for (const LinkId link : links_to_) links_back_.push_back(link ^ 1);
}

void Fabric::set_down(uint32_t cable, bool down) {
  if ((down_[2 * cable] != 0) == down) return;
  down_[2 * cable] = down_[2 * cable + 1] = down ? 1 : 0;
  for (const LinkId link : {2 * cable, 2 * cable + 1}) {
    if (from_switch_[link] != kNone) failed_at_[from_switch_[link]] += down ? 1 : UINT32_MAX;
  }
  failed_ += down ? 2 : UINT32_MAX - 1;
  live_.clear();
  detours_.clear();
}

void Fabric::set_rate(uint32_t cable, BitsPerSec rate) {
  rates_[2 * cable] = rates_[2 * cable + 1] = bytes_per_ns(rate);
}

const Fabric::Neighbor* Fabric::find_neighbor(uint32_t from, uint32_t to) const {
  const std::span<const Neighbor> all = neighbors(from);
  // A spine's neighbors are mostly leaves with consecutive numbers.
  if (!all.empty() && to >= all.front().index && to - all.front().index < all.size()) {
    const Neighbor& guess = all[to - all.front().index];
    if (guess.index == to) return &guess;
  }
  const auto found = std::lower_bound(
      all.begin(), all.end(), to,
      [](const Neighbor& neighbor, uint32_t index) { return neighbor.index < index; });
  return found != all.end() && found->index == to ? &*found : nullptr;
}

// Looks at the switch with fewer neighbors: a leaf's are in one place of the memory, while those of
// all spines to one leaf are far from each other. Both directions have the order of the cables.
std::span<const LinkId> Fabric::direct(uint32_t from, uint32_t to) const {
  const bool turn = neighbors(to).size() < neighbors(from).size();
  const Neighbor* const found = turn ? find_neighbor(to, from) : find_neighbor(from, to);
  if (found == nullptr) return {};
  return std::span(turn ? links_back_ : links_to_).subspan(found->first, found->count);
}

// Two switches with the same neighbors reach each other over all of them: leaves of a Clos fabric.
// They are no neighbors themselves, because none is its own.
std::span<const LinkId> Fabric::next_of_all(uint32_t from, uint32_t target) {
  if (class_[from] == class_[target] && from != target) return links_from(from);
  if (const std::span<const LinkId> links = direct(from, target); !links.empty()) return links;
  const uint64_t key = uint64_t{from} << 32 | target;
  const auto found = known_.find(key);
  return found != known_.end() ? std::span<const LinkId>(found->second) : search(from, target);
}

std::span<const LinkId> Fabric::search(uint32_t from, uint32_t target) {
  std::vector<LinkId> links;
  for (const LinkId link : links_from(from)) {
    if (!direct(to_[link], target).empty()) links.push_back(link);
  }
  if (links.empty() && from != target) {
    const std::vector<uint16_t>& distances = distances_to(target);
    for (const LinkId link : links_from(from)) {
      if (distances[from] != kFar && distances[to_[link]] + 1 == distances[from]) {
        links.push_back(link);
      }
    }
  }
  return known_[uint64_t{from} << 32 | target] = std::move(links);
}

// The routes of most pairs cannot cross a failed cable, and that is seen at once: a route between
// leaves with the same spines has cables of these two alone, and one between neighbors has one.
std::span<const LinkId> Fabric::next(uint32_t from, uint32_t target) {
  const bool touched =
      failed_ > 0 && (failed_at_[from] > 0 || failed_at_[target] > 0 ||
                      (class_[from] != class_[target] && direct(from, target).empty()));
  if (!touched) return next_of_all(from, target);
  const std::span<const LinkId> shortest = live_shortest(from, target);
  return shortest.empty() ? detour(from, target) : shortest;
}

std::span<const LinkId> Fabric::live_shortest(uint32_t from, uint32_t target) {
  const uint64_t key = uint64_t{from} << 32 | target;
  if (const auto found = live_.find(key); found != live_.end()) return found->second;
  std::vector<LinkId> links;
  for (const LinkId link : next_of_all(from, target)) {
    if (down(link)) continue;
    if (to_[link] == target || !live_shortest(to_[link], target).empty()) links.push_back(link);
  }
  return live_[key] = std::move(links);
}

std::span<const LinkId> Fabric::detour(uint32_t from, uint32_t target) {
  const uint64_t key = uint64_t{from} << 32 | target;
  if (const auto found = detours_.find(key); found != detours_.end()) return found->second;
  const std::vector<uint16_t> hops = distances(target, true);
  std::vector<LinkId> links;
  for (const LinkId link : links_from(from)) {
    if (!down(link) && hops[from] != kFar && hops[to_[link]] + 1 == hops[from]) {
      links.push_back(link);
    }
  }
  return detours_[key] = std::move(links);
}

const std::vector<uint16_t>& Fabric::distances_to(uint32_t target) {
  std::vector<uint16_t>& known = distances_[target];
  if (known.empty()) known = distances(target, false);
  return known;
}

uint32_t Fabric::shortest_hops(uint32_t from, uint32_t target) {
  uint32_t hops = 0;
  for (uint32_t at = from; at != target; ++hops) {
    const std::span<const LinkId> next = next_of_all(at, target);
    if (next.empty()) return kNone;
    at = to_[next.front()];
  }
  return hops;
}

// Cables are bidirectional, and fail so: the distance from the target equals the distance to it.
std::vector<uint16_t> Fabric::distances(uint32_t target, bool live) const {
  std::vector<uint16_t> hops(topology_.switches.size(), kFar);
  std::vector<uint32_t> order = {target};
  hops[target] = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    for (const LinkId link : links_from(order[i])) {
      if (hops[to_[link]] != kFar || (live && down(link))) continue;
      hops[to_[link]] = static_cast<uint16_t>(hops[order[i]] + 1);
      order.push_back(to_[link]);
    }
  }
  return hops;
}

bool Fabric::route(const EcmpKey& key, Route& route) {
  route.clear();
  const uint32_t target = switch_of_nic_[key.to_nic];
  uint32_t at = switch_of_nic_[key.from_nic];
  LinkId link = egress_[key.from_nic];
  if (down_[link] != 0 || down_[ingress(key.to_nic)] != 0) return false;
  route.push(link);
  if (at == kNone || target == kNone) return link == ingress(key.to_nic);
  while (at != target) {
    const std::span<const LinkId> choices = next(at, target);
    if (choices.empty()) return false;
    const auto count = static_cast<uint32_t>(choices.size());
    link = choices[topology::ecmp_choice(count, topology_.switches[at].hash_seed, key)];
    if (!route.push(link)) return false;
    at = to_[link];
  }
  return route.push(ingress(key.to_nic));
}

}  // namespace heddle::planner
