// See switch_match.h.
#include "probing/switch_match.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

namespace heddle::probing {
namespace {

using topology::NodeKind;

class Matcher {
 public:
  Matcher(const FoundFabric& found, const topology::Topology& truth, const MatchBasis& basis)
      : found_(found), truth_(truth), truth_nics_(static_cast<uint32_t>(truth.nics.size())) {
    matches_.resize(found.switches.size());
    taken_.resize(truth.switches.size());
    found_neighbors_.resize(found.switches.size());
    truth_neighbors_.resize(truth.switches.size());
    for (const FoundLink& link : found.links) {
      add_neighbor(link.a, link.b);
      add_neighbor(link.b, link.a);
    }
    for (const auto& [a, b] : basis.links) {
      if (a.kind == NodeKind::kSwitch) truth_neighbors_[a.index].insert(number_of(b));
      if (b.kind == NodeKind::kSwitch) truth_neighbors_[b.index].insert(number_of(a));
    }
    for (uint32_t i = 0; i < basis.nics.size(); ++i) {
      if (basis.nics[i]) note({NodeKind::kNic, i}, *basis.nics[i]);
    }
  }

  std::vector<std::optional<uint32_t>> match() {
    for (;;) {
      std::optional<Score> best;
      uint32_t one = 0;
      uint32_t other = 0;
      for (uint32_t i = 0; i < found_.switches.size(); ++i) {
        for (uint32_t j = 0; j < truth_.switches.size(); ++j) {
          if (matches_[i] || taken_[j]) continue;
          const std::optional<Score> score = score_of(i, j);
          if (!score || (best && *score <= *best)) continue;
          best = score;
          one = i;
          other = j;
        }
      }
      if (!best) return matches_;
      matches_[one] = other;
      taken_[other] = true;
      note({NodeKind::kSwitch, one}, truth_nics_ + other);
    }
  }

 private:
  // Shared part of neighbors, same name, a NIC among them (NICs are certain), how late the latest
  // of them was matched, their number, difference of degrees.
  using Score = std::tuple<double, bool, bool, size_t, size_t, int64_t>;

  uint32_t number_of(const topology::Node& node) const {
    return node.kind == NodeKind::kNic ? node.index : truth_nics_ + node.index;
  }

  void add_neighbor(const Place& at, const Place& neighbor) {
    if (at.kind == NodeKind::kSwitch && at.is_known()) found_neighbors_[at.index].insert(neighbor);
  }

  void note(const Place& place, uint32_t number) {
    order_[number] = matched_.size();
    matched_[place] = number;
  }

  std::optional<Score> score_of(uint32_t one, uint32_t other) const {
    std::set<uint32_t> mine;
    for (const Place& each : found_neighbors_[one]) {
      if (const auto at = matched_.find(each); at != matched_.end()) mine.insert(at->second);
    }
    size_t common = 0;
    size_t all = mine.size();
    size_t latest = 0;
    bool has_nic = false;
    for (const uint32_t each : truth_neighbors_[other]) {
      const auto at = order_.find(each);
      if (at == order_.end()) continue;
      if (!mine.contains(each)) {
        ++all;
        continue;
      }
      ++common;
      has_nic = has_nic || each < truth_nics_;
      latest = std::max(latest, at->second);
    }
    if (common == 0) return std::nullopt;
    const bool same_name =
        found_.switches[one].is_named && found_.switches[one].name == truth_.switches[other].name;
    const auto degrees = static_cast<int64_t>(found_neighbors_[one].size()) -
                         static_cast<int64_t>(truth_neighbors_[other].size());
    return Score{static_cast<double>(common) / static_cast<double>(all),
                 same_name,
                 has_nic,
                 latest,
                 common,
                 -std::abs(degrees)};
  }

  const FoundFabric& found_;
  const topology::Topology& truth_;
  uint32_t truth_nics_;
  std::vector<std::optional<uint32_t>> matches_;
  std::vector<bool> taken_;
  std::vector<std::set<Place>> found_neighbors_;
  std::vector<std::set<uint32_t>> truth_neighbors_;
  std::map<Place, uint32_t> matched_;  // numbers of the topology's nodes
  std::map<uint32_t, size_t> order_;   // in which they were matched
};

}  // namespace

std::vector<std::optional<uint32_t>> match_switches(const FoundFabric& found,
                                                    const topology::Topology& truth,
                                                    const MatchBasis& basis) {
  return Matcher(found, truth, basis).match();
}

}  // namespace heddle::probing
