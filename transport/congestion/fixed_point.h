// Integer arithmetic of the congestion controllers: products and quotients with 128 bits inside and
// roots that are exact to their last bit, so that a window is the same number in every build and on
// every machine.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace heddle::transport {

// a x b / divisor, rounded down. The result must fit in 64 bits.
constexpr uint64_t multiply_divide(uint64_t a, uint64_t b, uint64_t divisor) {
  return static_cast<uint64_t>(static_cast<Uint128>(a) * b / divisor);
}

// The largest r with r x r x r <= x.
constexpr uint64_t cube_root(Uint128 x) {
  uint64_t root = 0;
  for (int bit = 42; bit >= 0; --bit) {
    const uint64_t candidate = root | (uint64_t{1} << bit);
    // candidate < 2^43, so its cube would need 129 bits; x / c / c >= c asks the same without it.
    if (x / candidate / candidate >= candidate) root = candidate;
  }
  return root;
}

// The largest r with r x r <= x.
constexpr uint64_t square_root(uint64_t x) {
  uint64_t root = 0;
  for (int bit = 31; bit >= 0; --bit) {
    const uint64_t candidate = root | (uint64_t{1} << bit);
    if (candidate * candidate <= x) root = candidate;
  }
  return root;
}

// Grows a count by fractions: the remainder of each division is added to the next one, and many
// small steps (acknowledgements) add up to the same count as one large step.
class Carry {
 public:
  // a x b / divisor with what earlier calls left over.
  uint64_t take(uint64_t a, uint64_t b, uint64_t divisor) {
    const Uint128 sum = static_cast<Uint128>(a) * b + left_;
    const Uint128 whole = sum / divisor;
    left_ = static_cast<uint64_t>(sum - whole * divisor);
    return static_cast<uint64_t>(whole);
  }
  void clear() { left_ = 0; }

 private:
  uint64_t left_ = 0;
};

}  // namespace heddle::transport
