// Seed: see seed.h; getrandom(2) does not block once the system has started.
#include "engine/seed.h"

#include <sys/random.h>

#include "base/check.h"

namespace heddle::engine {

uint64_t system_seed() {
  uint64_t seed = 0;
  while (seed == 0) CHECK(getrandom(&seed, sizeof seed, 0) == sizeof seed);
  return seed;
}

}  // namespace heddle::engine
