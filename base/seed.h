// Seed: 256 bits that determine every random choice. Simulations and tests seed with a number, and
// equal numbers give equal runs. Secrets use 256 bits of the system's cryptographic generator.
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
