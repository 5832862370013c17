// Seeded draws of real numbers, each from 64 bits of a Random: the same on every machine with IEEE
// doubles.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/hash.h"
#include "base/random.h"

namespace heddle::bench {

// Uniform in [0, 1).
inline double uniform(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

inline double uniform(Random& random, double low, double high) {
  return low + (high - low) * uniform(random);
}

// Uniform in the logarithm.
inline double log_uniform(Random& random, double low, double high) {
  return low * std::exp(uniform(random) * std::log(high / low));
}

// Of mean 0 and deviation 1 (Box and Muller, 1958).
inline double gaussian(Random& random) {
  const double length = std::sqrt(-2 * std::log(1 - uniform(random)));
  return length * std::cos(2 * std::numbers::pi * uniform(random));
}

// Of mean 1; the logarithm's deviation is `deviation`.
inline double lognormal(Random& random, double deviation) {
  return std::exp(deviation * gaussian(random) - deviation * deviation / 2);
}

inline double exponential(Random& random, double mean) {
  return -mean * std::log(1 - uniform(random));
}

inline bool chance(Random& random, double probability) { return uniform(random) < probability; }

// A generator of its own for each place and time, so that draws do not depend on their order.
inline Random random_at(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
  return Random(mix_bits(mix_bits(mix_bits(seed ^ mix_bits(a)) + b) + c));
}

}  // namespace heddle::bench
