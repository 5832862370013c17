// Random: a seeded generator whose sequence is the same on every machine and in every build.
// xoshiro256** (Blackman and Vigna, 2018), seeded through splitmix64. Not for secrets.
#pragma once

#include <array>
#include <cstdint>

#include "base/check.h"
#include "base/hash.h"
#include "base/units.h"

namespace heddle {

class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) word = split_mix(seed);
  }

  // 64 uniform bits.
  uint64_t next() {
    const uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound); `bound` is at least 1. Its bias is below bound / 2^64.
  uint64_t below(uint64_t bound) {
    CHECK(bound > 0);
    return static_cast<uint64_t>((static_cast<Uint128>(next()) * bound) >> 64);
  }

  // Uniform in [low, high], both included.
  uint64_t between(uint64_t low, uint64_t high) {
    CHECK(low <= high);
    return high - low == UINT64_MAX ? next() : low + below(high - low + 1);
  }

  // True with a probability of `parts` in a million.
  bool chance_per_million(uint32_t parts) { return below(1'000'000) < parts; }

  // A generator whose sequence is independent of this one's later output.
  Random fork() { return Random(next()); }

 private:
  static uint64_t rotate(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }

  static uint64_t split_mix(uint64_t& seed) {
    seed += 0x9e3779b97f4a7c15;
    return mix_bits(seed);
  }

  std::array<uint64_t, 4> state_;
};

}  // namespace heddle
