// Hello: the first message of the rank that connected.
#pragma once

#include <cstdint>
#include <optional>

#include "collectives/shared_memory/negotiation.h"

namespace heddle::collectives {

struct Hello {
  uint64_t communicator = 0;
  uint32_t rank = 0;
  uint32_t size = 0;
  std::optional<MemoryOffer> memory;  // nothing: the network it is
  bool operator==(const Hello&) const = default;
};

}  // namespace heddle::collectives
