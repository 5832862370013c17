// How many entropies tell how many ways: see fabric_ways.h.
#include "transport/fabric_ways.h"

#include <cmath>

namespace heddle::transport {

bool are_enough(uint32_t entropies, uint32_t ways) {
  const double more = ways + 1.0;
  return ways > 0 && more * std::pow(1.0 - 1.0 / more, entropies) < 0.01;
}

}  // namespace heddle::transport
