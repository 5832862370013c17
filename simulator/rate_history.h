// RateHistory: which rate a direction of a link had when, so that what it carried can be told as a
// part of what it could have carried. The network writes it.
#pragma once

#include <map>
#include <vector>

#include "base/nanos.h"
#include "base/units.h"
#include "simulator/routes.h"

namespace heddle::simulator {

class RateHistory {
 public:
  // Not before the link's last change.
  void add(LinkId link, Nanos at, BitsPerSec rate);
  // What it could have carried, in thousand-millionths of a bit; `first` is the rate that it had
  // before it changed at all.
  Uint128 nanobits(LinkId link, BitsPerSec first, Nanos from, Nanos to) const;

 private:
  struct Change {
    Nanos at;
    BitsPerSec rate;
    Uint128 before;  // carried since the first change
  };
  static Uint128 changed(const std::vector<Change>& changes, Nanos to);

  std::map<LinkId, std::vector<Change>> changes_;
};

}  // namespace heddle::simulator
