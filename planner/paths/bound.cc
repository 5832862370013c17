// Cut and dual bounds: see bound.h.
#include "planner/paths/bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace heddle::planner {
namespace {

// Lengths of the shortest routes between two switches, where links have lengths.
class ShortestRoutes {
 public:
  ShortestRoutes(Fabric& fabric, std::span<const double> lengths)
      : fabric_(fabric), lengths_(lengths) {}

  // Among those with the fewest hops, which are all that switches take.
  double between(uint32_t from, uint32_t to) {
    if (from == to) return 0;
    const std::span<const LinkId> next = fabric_.next(from, to);
    if (!next.empty() && fabric_.end_of(next.front()) == to) return shortest(next);
    const uint64_t key = uint64_t{from} << 32 | to;
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    double least = std::numeric_limits<double>::infinity();
    for (const LinkId link : std::vector<LinkId>(next.begin(), next.end())) {
      if (fabric_.down(link)) continue;
      least = std::min(least, lengths_[link] + between(fabric_.end_of(link), to));
    }
    return known_[key] = least;
  }

 private:
  double shortest(std::span<const LinkId> links) const {
    double least = std::numeric_limits<double>::infinity();
    for (const LinkId link : links) {
      if (!fabric_.down(link)) least = std::min(least, lengths_[link]);
    }
    return least;
  }

  Fabric& fabric_;
  std::span<const double> lengths_;
  std::unordered_map<uint64_t, double> known_;
};

// Bytes between two switches for each lane that has a route.
template <typename Use>
void for_each_lane(const RouteTable& table, Use use) {
  for (uint32_t i = 0; i < table.size(); ++i) {
    if (table.options_of(i) == 0) continue;
    const Lane& lane = table.lane(i);
    const uint32_t from = table.fabric().switch_of(lane.from_nic);
    const uint32_t to = table.fabric().switch_of(lane.to_nic);
    if (from != to && from != kNone && to != kNone) use(from, to, lane.bytes);
  }
}

}  // namespace

double cut_bound(const RouteTable& table, std::span<const double> background) {
  const Fabric& fabric = table.fabric();
  const size_t switches = fabric.topology().switches.size();
  std::vector<double> out(switches);
  std::vector<double> in(switches);
  for_each_lane(table, [&](uint32_t from, uint32_t to, double bytes) {
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
      if (background.empty()) continue;
      others_out += background[link];
      others_in += background[link ^ 1];
    }
    // Nothing of the plan's own: others' load cannot be moved.
    if (out[i] > 0) longest = std::max(longest, (out[i] + others_out) / rate);
    if (in[i] > 0) longest = std::max(longest, (in[i] + others_in) / rate);
  }
  return longest;
}

DualBound::DualBound(Fabric& fabric, const RouteTable& table, std::span<const double> background)
    : fabric_(fabric), background_(background) {
  for_each_lane(table, [&](uint32_t from, uint32_t to, double bytes) {
    pairs_.push_back({from, to, bytes});
  });
  std::sort(pairs_.begin(), pairs_.end(), [](const Pair& a, const Pair& b) {
    return a.from < b.from || (a.from == b.from && a.to < b.to);
  });
  size_t kept = 0;
  for (const Pair& pair : pairs_) {
    if (kept > 0 && pairs_[kept - 1].from == pair.from && pairs_[kept - 1].to == pair.to) {
      pairs_[kept - 1].bytes += pair.bytes;
    } else {
      pairs_[kept++] = pair;
    }
  }
  pairs_.resize(kept);
}

double DualBound::with(std::span<const double> lengths) {
  double rates = 0;
  double total = 0;
  for (LinkId link = 0; link < fabric_.links(); ++link) {
    if (!fabric_.is_between_switches(link) || lengths[link] == 0) continue;
    if (std::isinf(fabric_.rate(link)) || fabric_.down(link)) continue;
    rates += fabric_.rate(link) * lengths[link];
    if (!background_.empty()) total += background_[link] * lengths[link];
  }
  if (rates <= 0) return 0;
  ShortestRoutes routes(fabric_, lengths);
  for (const Pair& pair : pairs_) {
    const double length = routes.between(pair.from, pair.to);
    if (!std::isinf(length)) total += pair.bytes * length;
  }
  return total / rates;
}

double DualBound::with_lengths_of(const Loads& loads) {
  const double most = loads.longest_between();
  if (most <= 0) return 0;
  // The larger, the more only the most loaded links count.
  constexpr std::array kSharpness = {4.0, 16.0, 64.0, 256.0};
  double best = 0;
  std::vector<double> lengths(fabric_.links());
  for (const double sharpness : kSharpness) {
    for (LinkId link = 0; link < fabric_.links(); ++link) {
      if (!fabric_.is_between_switches(link) || std::isinf(fabric_.rate(link))) continue;
      lengths[link] = std::exp(sharpness * (loads.time(link) / most - 1)) / fabric_.rate(link);
    }
    best = std::max(best, with(lengths));
  }
  return best;
}

}  // namespace heddle::planner
