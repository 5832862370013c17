// Cut and dual bounds: see bound.h.
#include "planner/paths/bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "planner/paths/possible_links.h"
#include "planner/paths/regular_clos.h"

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

// A link that others fill to `level` ns, and that takes `slope` for each ns above it.
struct Basin {
  double level = 0;
  double slope = 0;
};

// The time up to which the links are filled when `amount` is poured into them, ns.
double filled_to(std::vector<Basin>& links, double amount) {
  if (amount <= 0) return 0;
  const auto lower = [](const Basin& a, const Basin& b) { return a.level < b.level; };
  // Without loads of others all are empty.
  if (!std::is_sorted(links.begin(), links.end(), lower)) {
    std::sort(links.begin(), links.end(), lower);
  }
  double slopes = 0;
  double below = 0;  // what the links so far lack, by their levels
  double time = 0;
  for (size_t i = 0; i < links.size(); ++i) {
    slopes += links[i].slope;
    below += links[i].slope * links[i].level;
    if (slopes <= 0) continue;
    time = (amount + below) / slopes;
    if (i + 1 == links.size() || time <= links[i + 1].level) return time;
  }
  return time;
}

// 0: the fabric is no RegularClos, or has several cables to a spine.
uint32_t uplinks_by_place(const Fabric& fabric) {
  const std::optional<RegularClos> clos = RegularClos::find(fabric);
  if (!clos || fabric.topology().nics.empty()) return 0;
  std::vector<bool> seen(fabric.topology().switches.size());
  for (const LinkId link : fabric.links_from(fabric.switch_of(0))) {
    if (seen[fabric.end_of(link)]) return 0;
    seen[fabric.end_of(link)] = true;
  }
  return clos->uplinks();
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
  std::vector<Basin> up;
  std::vector<Basin> down;
  const auto level = [&](LinkId link) {
    return background.empty() ? 0.0 : background[link] / fabric.rate(link);
  };
  for (uint32_t i = 0; i < switches; ++i) {
    if (out[i] <= 0 && in[i] <= 0) continue;
    up.clear();
    down.clear();
    bool endless = false;  // a link without a rate takes everything
    for (const LinkId link : fabric.links_from(i)) {
      if (fabric.down(link)) continue;
      endless |= std::isinf(fabric.rate(link));
      up.push_back({level(link), fabric.rate(link)});
      down.push_back({level(link ^ 1), fabric.rate(link ^ 1)});
    }
    if (endless) continue;
    if (out[i] > 0) longest = std::max(longest, filled_to(up, out[i]));
    if (in[i] > 0) longest = std::max(longest, filled_to(down, in[i]));
  }
  return longest;
}

DualBound::DualBound(Fabric& fabric, std::span<const RouteTable* const> tables,
                     std::span<const double> background)
    : fabric_(fabric), background_(background), uplinks_(uplinks_by_place(fabric)) {
  for (const RouteTable* const table : tables) {
    for_each_lane(*table, [&](uint32_t from, uint32_t to, double bytes) {
      pairs_.push_back({from, to, bytes});
    });
  }
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
  find_links();
}

void DualBound::find_links() {
  std::vector<uint8_t> taken;
  if (uplinks_ > 0) {
    taken.resize(fabric_.links());
    for (const Pair& pair : pairs_) {
      for (const LinkId link : fabric_.links_from(pair.from)) taken[link] = 1;
      for (const LinkId link : fabric_.links_from(pair.to)) taken[link ^ 1] = 1;
    }
  } else {
    std::vector<SwitchPair> pairs;
    pairs.reserve(pairs_.size());
    for (const Pair& pair : pairs_) pairs.push_back({pair.from, pair.to});
    taken = possible_links(fabric_, pairs);
  }
  for (LinkId link = 0; link < fabric_.links(); ++link) {
    if (taken[link] != 0 && !std::isinf(fabric_.rate(link))) links_.push_back(link);
  }
}

double DualBound::with(std::span<const double> lengths) {
  std::vector<Basin> links;
  for (LinkId link = 0; link < fabric_.links(); ++link) {
    if (!fabric_.is_between_switches(link) || lengths[link] == 0) continue;
    if (std::isinf(fabric_.rate(link)) || fabric_.down(link)) continue;
    const double others = background_.empty() ? 0 : background_[link];
    links.push_back({others / fabric_.rate(link), fabric_.rate(link) * lengths[link]});
  }
  return filled_to(links, uplinks_ > 0 ? routed_by_place(lengths) : routed(lengths));
}

double DualBound::routed(std::span<const double> lengths) {
  double total = 0;
  ShortestRoutes routes(fabric_, lengths);
  for (const Pair& pair : pairs_) {
    const double length = routes.between(pair.from, pair.to);
    if (!std::isinf(length)) total += pair.bytes * length;
  }
  return total;
}

double DualBound::routed_by_place(std::span<const double> lengths) const {
  const size_t switches = fabric_.topology().switches.size();
  std::vector<double> up(switches * uplinks_);
  std::vector<double> down(switches * uplinks_);
  for (uint32_t nic = 0; nic < fabric_.topology().nics.size(); ++nic) {
    const uint32_t leaf = fabric_.switch_of(nic);
    const std::span<const LinkId> links = fabric_.links_from(leaf);
    if (down[leaf * uplinks_] > 0) continue;  // it was here before
    for (size_t i = 0; i < links.size(); ++i) {
      up[leaf * uplinks_ + i] = lengths[links[i]];
      down[leaf * uplinks_ + i] = lengths[links[i] ^ 1];
    }
  }
  double total = 0;
  for (const Pair& pair : pairs_) {
    const double* const first = &up[pair.from * uplinks_];
    const double* const second = &down[pair.to * uplinks_];
    double least = std::numeric_limits<double>::infinity();
    for (uint32_t i = 0; i < uplinks_; ++i) least = std::min(least, first[i] + second[i]);
    total += pair.bytes * least;
  }
  return total;
}

double DualBound::with_lengths_of(const Loads& loads) {
  const double most = loads.longest_between();
  if (most <= 0) return 0;
  // The larger, the more only the most loaded links count.
  constexpr std::array kSharpness = {4.0, 16.0, 64.0, 256.0};
  double best = 0;
  std::vector<double> lengths(fabric_.links());
  for (const double sharpness : kSharpness) {
    for (const LinkId link : links_) {
      lengths[link] =
          std::exp(sharpness * std::min(loads.time(link) / most - 1, 1.0)) / fabric_.rate(link);
    }
    best = std::max(best, with(lengths));
  }
  return best;
}

}  // namespace heddle::planner
