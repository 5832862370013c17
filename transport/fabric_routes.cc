// The number of entropies that shows all routes: see fabric_routes.h.
#include "transport/fabric_routes.h"

#include <cmath>

namespace heddle::transport {

bool are_enough(uint32_t entropies, uint32_t routes) {
  const double more = routes + 1.0;
  return routes > 0 && more * std::pow(1.0 - 1.0 / more, entropies) < 0.01;
}

}  // namespace heddle::transport
