// Hello: the first message on a connection, from the rank that connected: its communicator, its
// rank, and whether it offers shared memory.
#pragma once

#include <cstdint>
#include <optional>

#include "collectives/shared_memory/negotiation.h"

namespace heddle::collectives {

struct Hello {
  uint64_t communicator = 0;
  uint32_t rank = 0;
  uint32_t size = 0;
  std::optional<MemoryOffer> memory;  // empty: the ranks use the network, not shared memory
  bool operator==(const Hello&) const = default;
};

}  // namespace heddle::collectives
