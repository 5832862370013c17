// Counters of the kernel's and of devices: two readings, and what lies between them.
#pragma once

#include <cstdint>

namespace heddle::nodes {

// What a counter has counted since; one of a device that was made anew begins at zero.
constexpr uint64_t counted_since(uint64_t before, uint64_t now) {
  return now >= before ? now - before : now;
}

}  // namespace heddle::nodes
