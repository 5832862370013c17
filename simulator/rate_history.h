// RateHistory: the rates of a link's direction over time, to compute its utilization. The network
// writes it.
#pragma once

#include <map>
#include <vector>

#include "base/nanos.h"
#include "base/units.h"
#include "simulator/routes.h"

namespace heddle::simulator {

class RateHistory {
 public:
  // `at` must not be before the link's last change.
  void add(LinkId link, Nanos at, BitsPerSec rate);
  // The capacity between two times, in billionths of a bit; `first` is the rate before the first
  // change.
  Uint128 nanobits(LinkId link, BitsPerSec first, Nanos from, Nanos to) const;

 private:
  struct Change {
    Nanos at;
    BitsPerSec rate;
    Uint128 before;  // capacity since the first change
  };
  static Uint128 changed(const std::vector<Change>& changes, Nanos to);

  std::map<LinkId, std::vector<Change>> changes_;
};

}  // namespace heddle::simulator
