// RegularClos: recognizes fabrics of two tiers in which every leaf has the same uplinks, in the
// same order and of one rate, and no cable is down: an uplink's place stands for the same spine
// everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/paths/fabric.h"

namespace heddle::planner {

class RegularClos {
 public:
  static std::optional<RegularClos> find(const Fabric& fabric);

  uint32_t uplinks() const { return uplinks_; }  // of a leaf
  // The place of a leaf's uplink among these.
  uint32_t place_of(LinkId uplink) const { return place_[uplink]; }

 private:
  uint32_t uplinks_ = 0;
  std::vector<uint16_t> place_;
};

}  // namespace heddle::planner
