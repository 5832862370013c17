// Cut and dual bounds: see bound.h.
#include "planner/paths/bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <vector>

namespace heddle::planner {
namespace {

// Lengths of the shortest routes between two switches, where links have lengths.
class ShortestRoutes {
 public:
  ShortestRoutes(Fabric& fabric, const std::vector<double>& lengths)
      : fabric_(fabric), lengths_(lengths) {}

  // Among those with the fewest hops, which are all that switches take.
  double between(uint32_t from, uint32_t to) {
    if (from == to) return 0;
    const uint64_t key = uint64_t{from} << 32 | to;
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    double least = std::numeric_limits<double>::infinity();
    const std::span<const LinkId> next = fabric_.next(from, to);
    for (const LinkId link : std::vector<LinkId>(next.begin(), next.end())) {
      if (fabric_.down(link)) continue;
      least = std::min(least, lengths_[link] + between(fabric_.end_of(link), to));
    }
    return known_[key] = least;
  }

 private:
  Fabric& fabric_;
  const std::vector<double>& lengths_;
  std::unordered_map<uint64_t, double> known_;
};

// Bytes between two switches for each unit that has a route.
template <typename Use>
void for_each_unit(const Fabric& fabric, const Demand& demand, const Placement& placement,
                   Use use) {
  for (const Unit& unit : placement.units()) {
    if (unit.path == kNoPath) continue;
    const topology::EcmpKey key =
        key_of(fabric, demand, demand.flows[unit.flow], unit.lane, unit.path);
    const uint32_t from = fabric.switch_of(key.from_nic);
    const uint32_t to = fabric.switch_of(key.to_nic);
    if (from != to && from != kNone && to != kNone) use(from, to, unit.bytes);
  }
}

}  // namespace

double cut_bound(Fabric& fabric, const Demand& demand, const Placement& placement) {
  const size_t switches = fabric.topology().switches.size();
  std::vector<double> out(switches);
  std::vector<double> in(switches);
  for_each_unit(fabric, demand, placement, [&](uint32_t from, uint32_t to, double bytes) {
    out[from] += bytes;
    in[to] += bytes;
  });
  double longest = 0;
  for (uint32_t i = 0; i < switches; ++i) {
    double rate = 0;
    double others_out = 0;
    double others_in = 0;
    for (const LinkId link : fabric.links_from(i)) {
      if (!fabric.down(link)) rate += fabric.rate(link);
      if (demand.background.empty()) continue;
      others_out += demand.background[link];
      others_in += demand.background[link ^ 1];
    }
    // Nothing of the plan's own: others' load cannot be moved.
    if (out[i] > 0) longest = std::max(longest, (out[i] + others_out) / rate);
    if (in[i] > 0) longest = std::max(longest, (in[i] + others_in) / rate);
  }
  return longest;
}

double dual_bound(Fabric& fabric, const Demand& demand, const Placement& placement) {
  const double most = placement.loads().longest_between();
  if (most <= 0) return 0;
  // The larger, the more only the most loaded links count.
  constexpr std::array kSharpness = {4.0, 16.0, 64.0, 256.0};
  double best = 0;
  for (const double sharpness : kSharpness) {
    std::vector<double> lengths(fabric.links());
    double sum = 0;
    double others = 0;
    for (LinkId link = 0; link < fabric.links(); ++link) {
      if (!fabric.is_between_switches(link) || std::isinf(fabric.rate(link))) continue;
      const double weight = std::exp(sharpness * (placement.loads().time(link) / most - 1));
      lengths[link] = weight / fabric.rate(link);
      sum += weight;
      if (!demand.background.empty()) others += demand.background[link] * lengths[link];
    }
    ShortestRoutes routes(fabric, lengths);
    double total = others;
    for_each_unit(fabric, demand, placement, [&](uint32_t from, uint32_t to, double bytes) {
      const double length = routes.between(from, to);
      if (!std::isinf(length)) total += bytes * length;
    });
    best = std::max(best, total / sum);
  }
  return best;
}

}  // namespace heddle::planner
