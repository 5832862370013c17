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

Seed system_secret_seed() {
  std::array<uint64_t, 4> words{};
  CHECK(getrandom(words.data(), sizeof words, 0) == sizeof words);
  return Seed(words);
}

}  // namespace heddle::engine
