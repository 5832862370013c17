// Serial: a number that wraps around, ordered by serial number arithmetic (RFC 1982). Two numbers
// half the range apart have no order, which the caller must handle. There is no subtraction and no
// operator<, so that code cannot order numbers from the wire by accident.
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
  // The value on the wire.
  constexpr Serial(Integer value) : value_(value) {}  // implicit, because no conversion leads back
  constexpr Integer value() const { return value_; }

  friend constexpr bool operator==(Serial, Serial) = default;

  // Signed distance to `other`: positive if it is ahead, negative if behind. Empty if the two are
  // half the range apart (RFC 1982, section 3.2: undefined order).
  [[nodiscard]] constexpr std::optional<Steps> steps_to(Serial other) const {
    const auto steps = static_cast<Steps>(static_cast<Integer>(other.value_ - value_));
    if (steps == std::numeric_limits<Steps>::min()) return std::nullopt;
    return steps;
  }

  // The same for two numbers that this side keeps close together; CHECKs that they have an order.
  constexpr Steps known_steps_to(Serial other) const {
    const std::optional<Steps> steps = steps_to(other);
    CHECK(steps.has_value());
    return *steps;
  }

  // The number `steps` ahead; behind if `steps` is negative.
  constexpr Serial moved_by(Steps steps) const {
    return Serial(static_cast<Integer>(value_ + static_cast<Integer>(steps)));
  }
  // RFC 1982, section 3.1; CHECKs that `steps` is less than half the range.
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
