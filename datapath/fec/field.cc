// Field: see field.h. Products are read from a table of 64 KiB.
#include "datapath/fec/field.h"

#include <array>

#include "base/check.h"
#include "datapath/fec.h"

namespace heddle::datapath {
namespace {

// x^8 + x^4 + x^3 + x^2 + 1, of which x is a generator.
constexpr uint32_t kPolynomial = 0x11d;
constexpr uint32_t kNonZero = 255;

struct Tables {
  std::array<std::array<uint8_t, 256>, 256> product{};
  std::array<uint8_t, 256> inverse{};
};

constexpr Tables make_tables() {
  std::array<uint8_t, 2 * kNonZero> power{};
  std::array<uint32_t, 256> exponent{};
  uint32_t value = 1;
  for (uint32_t i = 0; i < kNonZero; ++i) {
    power[i] = power[i + kNonZero] = static_cast<uint8_t>(value);
    exponent[value] = i;
    value <<= 1;
    if (value > kNonZero) value ^= kPolynomial;
  }
  Tables made;
  for (uint32_t a = 1; a < 256; ++a) {
    made.inverse[a] = power[kNonZero - exponent[a]];
    for (uint32_t b = 1; b < 256; ++b) made.product[a][b] = power[exponent[a] + exponent[b]];
  }
  return made;
}

constexpr Tables kTables = make_tables();

}  // namespace

uint8_t field_product(uint8_t a, uint8_t b) { return kTables.product[a][b]; }

uint8_t field_inverse(uint8_t a) {
  CHECK(a != 0);
  return kTables.inverse[a];
}

uint8_t coefficient(uint32_t parity, uint32_t member) {
  CHECK(parity < kMostFecParity && member < kMostFecData);
  // Cauchy: 1 / (x + y) with all x and y different; addition is XOR. Times y + 0, row 0's divisor.
  const auto y = static_cast<uint8_t>(kMostFecParity + member);
  return field_product(y, field_inverse(static_cast<uint8_t>(parity ^ y)));
}

void add_scaled(std::span<std::byte> target, std::span<const std::byte> source, uint8_t scale) {
  CHECK(target.size() >= source.size());
  std::byte* to = target.data();
  const std::byte* from = source.data();
  if (scale == 1) {
    for (size_t i = 0; i < source.size(); ++i) to[i] ^= from[i];
    return;
  }
  const std::array<uint8_t, 256>& product = kTables.product[scale];
  for (size_t i = 0; i < source.size(); ++i) {
    to[i] ^= std::byte{product[static_cast<uint8_t>(from[i])]};
  }
}

void scale(std::span<std::byte> target, uint8_t scale) {
  const std::array<uint8_t, 256>& product = kTables.product[scale];
  for (std::byte& each : target) each = std::byte{product[static_cast<uint8_t>(each)]};
}

}  // namespace heddle::datapath
