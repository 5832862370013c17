// Hashes for data without an adversary: the same on every machine and in every build. Not for
// secrets.
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle {

// Each bit of `key` affects about half of the result's bits; 0 stays 0. The last step of splitmix64
// (Steele et al., Fast Splittable Pseudorandom Number Generators, 2014).
constexpr uint64_t mix_bits(uint64_t key) {
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9;
  key = (key ^ (key >> 27)) * 0x94d049bb133111eb;
  return key ^ (key >> 31);
}

// FNV-1a, 64 bits (Fowler, Noll and Vo).
constexpr uint64_t hash_text(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char each : text) hash = (hash ^ static_cast<uint8_t>(each)) * 0x100000001b3;
  return hash;
}

}  // namespace heddle
