// Bytes and BitsPerSec: amounts and rates whose unit is in the type, and the arithmetic between
// them and time. Everything is integer arithmetic (128-bit inside), so results do not differ
// between builds.
#pragma once

#include <compare>
#include <cstdint>

#include "base/nanos.h"

namespace heddle {

struct Bytes {
  uint64_t count = 0;
  constexpr auto operator<=>(const Bytes&) const = default;
};

constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }

constexpr Bytes kibibytes(uint64_t n) { return {n << 10}; }
constexpr Bytes mebibytes(uint64_t n) { return {n << 20}; }
constexpr Bytes gibibytes(uint64_t n) { return {n << 30}; }

struct BitsPerSec {
  uint64_t count = 0;
  constexpr auto operator<=>(const BitsPerSec&) const = default;
};

constexpr BitsPerSec megabits_per_s(uint64_t n) { return {n * 1'000'000}; }
constexpr BitsPerSec gigabits_per_s(uint64_t n) { return {n * 1'000'000'000}; }

__extension__ using Uint128 = unsigned __int128;

// How long `size` takes at `rate`, rounded up; zero for a zero rate, which stands for "not
// limited".
constexpr Nanos transmit_time(Bytes size, BitsPerSec rate) {
  if (rate.count == 0) return {};
  const Uint128 bit_nanos = static_cast<Uint128>(size.count) * 8 * 1'000'000'000;
  return {static_cast<int64_t>((bit_nanos + rate.count - 1) / rate.count)};
}

// How much passes at `rate` within `span`, rounded down; zero for a span that is not positive.
constexpr Bytes bytes_within(Nanos span, BitsPerSec rate) {
  if (span.count <= 0) return {};
  const Uint128 bits = static_cast<Uint128>(rate.count) * static_cast<uint64_t>(span.count);
  return {static_cast<uint64_t>(bits / 8 / 1'000'000'000)};
}

// The rate at which `size` passes within `span`; zero for a span that is not positive.
constexpr BitsPerSec rate_of(Bytes size, Nanos span) {
  if (span.count <= 0) return {};
  const Uint128 bits = static_cast<Uint128>(size.count) * 8 * 1'000'000'000;
  return {static_cast<uint64_t>(bits / static_cast<uint64_t>(span.count))};
}

}  // namespace heddle
