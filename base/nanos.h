// Nanos: a point in time or a duration in whole nanoseconds. The owner of a clock chooses its
// epoch, so only differences and order have meaning. Every module takes time as an argument of this
// type; only a datapath or the engine reads a clock.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace heddle {

struct Nanos {
  int64_t count = 0;

  constexpr auto operator<=>(const Nanos&) const = default;

  constexpr Nanos& operator+=(Nanos other) {
    count += other.count;
    return *this;
  }
  constexpr Nanos& operator-=(Nanos other) {
    count -= other.count;
    return *this;
  }

  // Later than any other time: "no deadline".
  static constexpr Nanos never() { return {std::numeric_limits<int64_t>::max()}; }
};

constexpr Nanos operator+(Nanos a, Nanos b) { return {a.count + b.count}; }
constexpr Nanos operator-(Nanos a, Nanos b) { return {a.count - b.count}; }
// a - b, clamped to the representable range; for times that a peer chose.
constexpr Nanos saturating_difference(Nanos a, Nanos b) {
  int64_t count = 0;
  if (!__builtin_sub_overflow(a.count, b.count, &count)) return {count};
  return {a.count < b.count ? std::numeric_limits<int64_t>::min()
                            : std::numeric_limits<int64_t>::max()};
}
constexpr Nanos operator*(Nanos a, int64_t k) { return {a.count * k}; }
constexpr Nanos operator*(int64_t k, Nanos a) { return {a.count * k}; }
constexpr Nanos operator/(Nanos a, int64_t k) { return {a.count / k}; }
constexpr int64_t operator/(Nanos a, Nanos b) { return a.count / b.count; }

constexpr Nanos nanos(int64_t n) { return {n}; }
constexpr Nanos micros(int64_t n) { return {n * 1'000}; }
constexpr Nanos millis(int64_t n) { return {n * 1'000'000}; }
constexpr Nanos seconds(int64_t n) { return {n * 1'000'000'000}; }

constexpr double to_seconds(Nanos t) { return static_cast<double>(t.count) * 1e-9; }
constexpr double to_micros(Nanos t) { return static_cast<double>(t.count) * 1e-3; }

}  // namespace heddle
