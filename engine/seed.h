// A seed from the system's random source, for endpoints that are not part of a reproducible run.
#pragma once

#include <cstdint>

#include "base/seed.h"

namespace heddle::engine {

// Never 0, which stands for "none given".
uint64_t system_seed();

// All that an endpoint's secrets follow from: 256 bits of the system's cryptographic generator.
Seed system_secret_seed();

}  // namespace heddle::engine
