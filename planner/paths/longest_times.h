// LongestTimesOfLinks: the largest of the times of a fabric's links, kept while single links
// change: a tree of maxima, of which a change walks up to the first that stays as it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/paths/fabric.h"

namespace heddle::planner {

class LongestTimesOfLinks {
 public:
  explicit LongestTimesOfLinks(uint32_t links) : links_(links), most_(2 * size_t{links}) {}

  void set(LinkId link, double time) {
    size_t at = size_t{links_} + link;
    most_[at] = time;
    for (at /= 2; at >= 1; at /= 2) {
      const double most = std::max(most_[2 * at], most_[2 * at + 1]);
      if (most_[at] == most) return;
      most_[at] = most;
    }
  }
  double longest() const { return links_ == 0 ? 0 : most_[1]; }

 private:
  uint32_t links_;
  std::vector<double> most_;  // of a node's two children; links are the leaves, from `links_` on
};

}  // namespace heddle::planner
