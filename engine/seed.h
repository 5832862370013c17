// Seeds from the system's random source, for endpoints outside reproducible runs.
#pragma once

#include <cstdint>

#include "base/seed.h"

namespace heddle::engine {

// Never 0, which means "no seed given".
uint64_t system_seed();

// The root of all of an endpoint's secrets: 256 bits of the system's cryptographic generator.
Seed system_secret_seed();

}  // namespace heddle::engine
