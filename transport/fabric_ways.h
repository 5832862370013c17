// FabricWays: what a connection has found out about the fabric between its two hosts: how many
// distinct ways there are, by which routers they lead, and which of its paths take which.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "events/events.h"

namespace heddle::transport {

using RouterAddress = std::array<uint8_t, 16>;  // as Address::host; zeros: it did not answer

struct FabricWays {
  bool under_way = false;  // the rest is not known yet
  events::WaysVerdict verdict = events::WaysVerdict::kSilentRouter;
  // Distinct rows of `routers`: as many as the fabric has where the verdict is kKnown, else what
  // was seen of them.
  uint32_t seen = 0;
  // Routers looked at on each path. kSilentRouter: some or all of the last column did not answer.
  uint8_t hops = 0;
  std::vector<uint16_t> way_of;        // of each path, from 0
  std::vector<RouterAddress> routers;  // `hops` a path

  uint32_t ways() const { return verdict == events::WaysVerdict::kKnown ? seen : 0; }
  const RouterAddress& router(uint16_t path, uint8_t hop) const {
    return routers[size_t{path} * hops + hop - 1];
  }
};

// Whether so many random entropies that were found to take `ways` ways leave less than one chance
// in a hundred that there is another: (ways + 1)(1 - 1/(ways + 1))^entropies bounds that chance
// where switches hash evenly.
bool are_enough(uint32_t entropies, uint32_t ways);

}  // namespace heddle::transport
