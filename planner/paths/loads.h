// Loads: the bytes on each direction of each link of a fabric. A plan is judged by the links that
// carry something of it: others' loads elsewhere cannot be moved by it, and do not slow it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/paths/fabric.h"

namespace heddle::planner {

class Loads {
 public:
  // `background`: bytes of others by link; empty: none. Both must outlive this and its copies.
  Loads(const Fabric& fabric, std::span<const double> background)
      : Loads(fabric.space(), background) {}
  Loads(const LinkSpace& links, std::span<const double> background)
      : links_(links), others_(background), bytes_(background.begin(), background.end()) {
    bytes_.resize(links.size());
  }

  void add(const Route& route, double bytes) { add(route.links(), bytes); }
  void add(std::span<const LinkId> links, double bytes) {
    for (const LinkId link : links) bytes_[link] += bytes;
  }
  void set(LinkId link, double bytes) { bytes_[link] = bytes; }
  // These links as in `other`.
  void copy(std::span<const LinkId> links, const Loads& other) {
    for (const LinkId link : links) bytes_[link] = other.bytes_[link];
  }
  double bytes(LinkId link) const { return bytes_[link]; }
  // Whether it has more than the background.
  bool carries(LinkId link) const {
    if (link >= others_.size()) return bytes_[link] > 0;
    // Sums of lanes that came and went are not exact.
    return bytes_[link] - others_[link] > std::max(kLeastBytes, kRounding * others_[link]);
  }
  std::span<const double> all() const { return bytes_; }
  // The time that the link takes for its load, ns.
  double time(LinkId link) const { return bytes_[link] / links_.rates[link]; }
  double time_with(LinkId link, double more) const {
    return (bytes_[link] + more) / links_.rates[link];
  }
  // The longest time of a link between switches that carries something, and of a NIC's.
  double longest_between() const { return longest(true); }
  double longest_of_nics() const { return longest(false); }

 private:
  double longest(bool between) const {
    double longest = 0;
    for (LinkId link = 0; link < bytes_.size(); ++link) {
      if ((links_.between[link] != 0) == between && carries(link)) {
        longest = std::max(longest, time(link));
      }
    }
    return longest;
  }

  static constexpr double kLeastBytes = 0.5;
  static constexpr double kRounding = 1e-12;

  LinkSpace links_;
  std::span<const double> others_;
  std::vector<double> bytes_;
};

}  // namespace heddle::planner
