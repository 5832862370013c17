// Serial: a number that wraps around, ordered by serial number arithmetic (RFC 1982). Two numbers
// that are half the circle apart have no order, and what compares them has to handle that. There is
// no subtraction and no operator<, so a number from the wire cannot be taken for near by accident.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "base/check.h"

namespace heddle {

template <typename Tag, std::unsigned_integral Integer>
class Serial {
 public:
  using Steps = std::make_signed_t<Integer>;

  constexpr Serial() = default;
  // As it stands on the wire.
  constexpr Serial(Integer value) : value_(value) {}  // implicit: no arithmetic leads back
  constexpr Integer value() const { return value_; }

  friend constexpr bool operator==(Serial, Serial) = default;

  // Steps from here to `other`: above zero where that is ahead, below where it is behind. Nothing
  // where the two are half the circle apart (RFC 1982 section 3.2: their order is undefined).
  [[nodiscard]] constexpr std::optional<Steps> steps_to(Serial other) const {
    const auto steps = static_cast<Steps>(static_cast<Integer>(other.value_ - value_));
    if (steps == std::numeric_limits<Steps>::min()) return std::nullopt;
    return steps;
  }

  // The same of two numbers that this side keeps near each other, so that they have an order.
  constexpr Steps known_steps_to(Serial other) const {
    const std::optional<Steps> steps = steps_to(other);
    CHECK(steps.has_value());
    return *steps;
  }

  // The number so many steps further on; back where they are below zero.
  constexpr Serial moved_by(Steps steps) const {
    return Serial(static_cast<Integer>(value_ + static_cast<Integer>(steps)));
  }
  // RFC 1982 section 3.1: adds less than half the circle; CHECKs that.
  constexpr Serial operator+(Integer steps) const {
    CHECK(steps <= static_cast<Integer>(std::numeric_limits<Steps>::max()));
    return Serial(static_cast<Integer>(value_ + steps));
  }
  constexpr Serial& operator++() {
    ++value_;
    return *this;
  }

 private:
  Integer value_ = 0;
};

}  // namespace heddle
