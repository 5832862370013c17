// The first placement: see placement.h. placement_moves.cc moves lanes.
#include "planner/paths/placement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/hash.h"
#include "planner/paths/coloring.h"

namespace heddle::planner {

namespace {

bool has_load(const LinkSpace& links, const Loads& loads) {
  for (LinkId link = 0; link < links.size(); ++link) {
    if (loads.bytes(link) > 0) return true;
  }
  return false;
}

}  // namespace

Placement::Placement(const RouteTable& table, const Loads& background, const RegularClos* clos)
    : table_(table),
      clos_(clos),
      loads_(background),
      has_others_(has_load(table.space(), background)),
      turn_of_(table.space().size()),
      chosen_(table.size(), kNone),
      lanes_on_(table.space().size()) {
  number_links();
}

// The links of a switch ascend.
void Placement::number_links() {
  const Fabric& fabric = table_.fabric();
  for (const Lane& lane : table_.lanes()) {
    first_place_ += mix_bits(uint64_t{lane.from_nic} << 32 | lane.to_nic);
  }
  for (uint32_t i = 0; i < turn_of_.size(); ++i) {
    const LinkId link = table_.own_links()[i];
    const std::span<const LinkId> links = fabric.links_from(fabric.start_of(link));
    const auto place =
        static_cast<size_t>(std::lower_bound(links.begin(), links.end(), link) - links.begin());
    turn_of_[i] =
        static_cast<uint32_t>((place + links.size() - first_place_ % links.size()) % links.size());
  }
}

void Placement::place(double floor) {
  colored_ = color();
  place_greedily();
  improve(floor);
}

// Places all large lanes that lead through the fabric, except those for which no entropy takes the
// uplink that they got. False: the coloring does not apply, and nothing has changed.
bool Placement::color() {
  const Fabric& fabric = table_.fabric();
  if (has_others_ || clos_ == nullptr || table_.size() == 0) return false;
  if (clos_->uplinks() > Colors::kMost) return false;
  std::vector<BipartiteEdge> edges;
  std::vector<uint32_t> lane_of;
  double bytes = 0;
  for (const Lane& lane : table_.lanes()) bytes = std::max(bytes, lane.bytes);
  for (uint32_t i = 0; i < table_.size(); ++i) {
    const Lane& lane = table_.lane(i);
    if (lane.bytes <= params::kSmallLane * bytes) continue;
    if (std::abs(lane.bytes - bytes) > 1e-6 * bytes) return false;
    const uint32_t from = fabric.switch_of(lane.from_nic);
    const uint32_t to = fabric.switch_of(lane.to_nic);
    if (from == to) continue;
    edges.push_back({from, to});
    lane_of.push_back(i);
  }
  const auto reachable = [&](uint32_t edge) {
    Colors colors;
    const uint32_t lane = lane_of[edge];
    for (uint32_t option = 0; option < table_.options_of(lane); ++option) {
      colors.add(clos_->place_of(table_.own_links()[table_.links(lane, option).front()]));
    }
    return colors;
  };
  const auto switches = static_cast<uint32_t>(fabric.topology().switches.size());
  const std::vector<uint16_t> colors = color_edges(
      {switches, switches, edges},
      {clos_->uplinks(), static_cast<uint32_t>(first_place_ % clos_->uplinks())}, reachable);
  for (size_t edge = 0; edge < edges.size(); ++edge) {
    const LinkId up = fabric.links_from(edges[edge].left)[colors[edge]];
    const LinkId down = fabric.links_from(edges[edge].right)[colors[edge]] ^ 1;
    const uint32_t lane = lane_of[edge];
    // The first route of both links; where there is none, one of the uplink.
    uint32_t found = kNone;
    for (uint32_t option = 0; option < table_.options_of(lane); ++option) {
      const std::span<const LinkId> links = table_.links(lane, option);
      const LinkId first = table_.own_links()[links.front()];
      const LinkId last = table_.own_links()[links.back()];
      if (first != up || (found != kNone && last != down)) continue;
      found = option;
      if (last == down) break;
    }
    if (found != kNone) put(lane, found);
  }
  return true;
}

// Large lanes first, because small ones fit into what these leave.
void Placement::place_greedily() {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < table_.size(); ++i) {
    if (chosen_[i] == kNone && table_.options_of(i) > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    return table_.lane(a).bytes > table_.lane(b).bytes;
  });
  for (const uint32_t lane : order) put(lane, cheapest(lane));
}

Placement::Cost Placement::cost_of(std::span<const LinkId> links, double bytes) const {
  Cost cost;
  for (const LinkId link : links) {
    const double time = loads_.time_with(link, bytes);
    cost.longest = std::max(cost.longest, time);
    cost.sum += time;
  }
  if (!links.empty()) cost.turn = turn_of_[links.front()];
  return cost;
}

uint32_t Placement::cheapest(uint32_t lane) const {
  Cost least{std::numeric_limits<double>::infinity(), 0, 0};
  uint32_t cheapest = 0;
  for (uint32_t option = 0; option < table_.options_of(lane); ++option) {
    const Cost cost = cost_of(table_.links(lane, option), table_.lane(lane).bytes);
    if (!(cost < least)) continue;
    least = cost;
    cheapest = option;
  }
  return cheapest;
}

}  // namespace heddle::planner
