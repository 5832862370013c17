// Expected traffic: the bytes that a rank sends in a call by its algorithm's formula, for
// comparison with measurements. The formulas are closed forms of the schedules in collectives/; a
// test compares the two.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "events/events.h"

namespace heddle::insight {

struct CallShape {
  events::Operation operation = events::Operation::kAllreduce;
  events::Algorithm algorithm = events::Algorithm::kRing;
  events::ElementType type = events::ElementType::kUint8;
  uint32_t size = 1;
  uint32_t root = 0;   // for a send or receive, the peer
  uint64_t count = 0;  // elements, as in call_made
  uint32_t chunk_bytes = 1;
  uint32_t group_ranks = 0;  // of two_level

  auto operator<=>(const CallShape&) const = default;
};

struct Share {
  uint32_t peer = 0;
  uint64_t bytes = 0;
};

// Bytes of an element; 0 for an unknown type.
uint32_t element_bytes(events::ElementType type);

// The algorithm to assume for a call of a library that does not report which one it used: no other
// sends less. NCCL's rings, and pairs or the root where blocks differ.
events::Algorithm least_algorithm(events::Operation operation);

// What `rank` sends to each peer, payload only; a peer may be listed more than once. Returns
// nothing where the formula is not known: alltoallv, and calls outside any communicator.
std::optional<std::vector<Share>> expected_sends(const CallShape& shape, uint32_t rank);

}  // namespace heddle::insight
