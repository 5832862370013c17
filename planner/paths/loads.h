// Loads: the bytes on each direction of each link of a fabric.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/paths/fabric.h"

namespace heddle::planner {

class Loads {
 public:
  // `background`: bytes of others by LinkId; empty: none. `fabric` must outlive this.
  Loads(const Fabric& fabric, std::span<const double> background)
      : fabric_(&fabric), bytes_(background.begin(), background.end()) {
    bytes_.resize(fabric.links());
  }

  void add(const Route& route, double bytes) { add(route.links(), bytes); }
  void add(std::span<const LinkId> links, double bytes) {
    for (const LinkId link : links) bytes_[link] += bytes;
  }
  double bytes(LinkId link) const { return bytes_[link]; }
  std::span<const double> all() const { return bytes_; }
  // The time that the link takes for its load, ns.
  double time(LinkId link) const { return bytes_[link] / fabric_->rate(link); }
  double time_with(LinkId link, double more) const {
    return (bytes_[link] + more) / fabric_->rate(link);
  }
  // The longest time of a link between switches, and of a NIC's.
  double longest_between() const { return longest(true); }
  double longest_of_nics() const { return longest(false); }

 private:
  double longest(bool between) const {
    double longest = 0;
    for (LinkId link = 0; link < bytes_.size(); ++link) {
      if (fabric_->is_between_switches(link) == between && bytes_[link] > 0) {
        longest = std::max(longest, time(link));
      }
    }
    return longest;
  }

  const Fabric* fabric_;
  std::vector<double> bytes_;
};

}  // namespace heddle::planner
