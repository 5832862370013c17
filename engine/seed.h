// A seed from the system's random source, for endpoints that are not part of a reproducible run.
#pragma once

#include <cstdint>

namespace heddle::engine {

// Never 0, which stands for "none given".
uint64_t system_seed();

}  // namespace heddle::engine
