// Bytes and BitsPerSec: amounts and rates with the unit in the type, and their arithmetic with
// time. All arithmetic is in integers (128-bit intermediates), so results are the same in every
// build.
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

// The time to send `size` at `rate`, rounded up; zero for a zero rate, which means "not limited".
constexpr Nanos transmit_time(Bytes size, BitsPerSec rate) {
  if (rate.count == 0) return {};
  const Uint128 bit_nanos = static_cast<Uint128>(size.count) * 8 * 1'000'000'000;
  return {static_cast<int64_t>((bit_nanos + rate.count - 1) / rate.count)};
}

// The bytes sent at `rate` within `span`, rounded down; zero for a span that is not positive.
constexpr Bytes bytes_within(Nanos span, BitsPerSec rate) {
  if (span.count <= 0) return {};
  const Uint128 bits = static_cast<Uint128>(rate.count) * static_cast<uint64_t>(span.count);
  return {static_cast<uint64_t>(bits / 8 / 1'000'000'000)};
}

// The rate at which `size` is sent within `span`; zero for a span that is not positive.
constexpr BitsPerSec rate_of(Bytes size, Nanos span) {
  if (span.count <= 0) return {};
  const Uint128 bits = static_cast<Uint128>(size.count) * 8 * 1'000'000'000;
  return {static_cast<uint64_t>(bits / static_cast<uint64_t>(span.count))};
}

}  // namespace heddle
