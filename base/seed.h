// Seed: 256 bits from which every random choice follows. A number makes one for simulations and
// tests, where equal numbers give equal runs; what must not be guessed takes all of it from the
// system's cryptographic generator.
#pragma once

#include <array>
#include <cstdint>

namespace heddle {

struct Seed {
  Seed(uint64_t number) : words{number, 0, 0, 0} {}  // implicit: a number is a seed
  explicit Seed(const std::array<uint64_t, 4>& all) : words(all) {}

  std::array<uint64_t, 4> words;
};

}  // namespace heddle
