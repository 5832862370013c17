// Serial: steps across the wrap, and no order half the range apart.
#include "base/serial.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

namespace heddle {
namespace {

using Number = Serial<struct NumberTag, uint32_t>;
using Small = Serial<struct SmallTag, uint16_t>;

template <typename T>
concept Subtracts = requires(T a, T b) {
  a - b;
};
template <typename T>
concept Orders = requires(T a, T b) {
  a < b;
};

static_assert(!Subtracts<Number> && !Orders<Number>, "only steps_to() compares");
static_assert(!std::is_convertible_v<Number, uint32_t>, "no arithmetic by way of an integer");
static_assert(!std::is_convertible_v<Number, Small>);

TEST(Serial, CountsStepsAcrossTheWrap) {
  EXPECT_EQ(Number(UINT32_MAX).steps_to(3), 4);
  EXPECT_EQ(Number(3).steps_to(UINT32_MAX), -4);
  EXPECT_EQ(Number(7).steps_to(7), 0);
}

TEST(Serial, NumbersHalfTheRangeApartHaveNoOrder) {
  for (const uint32_t at : {0u, 1u, UINT32_MAX - 63, 0x80000000u}) {
    const Number here(at);
    EXPECT_EQ(here.steps_to(at + 0x7fffffff), 0x7fffffff);
    EXPECT_EQ(here.steps_to(at + 0x80000000), std::nullopt);
    EXPECT_EQ(here.steps_to(at + 0x80000001), -0x7fffffff);
  }
  EXPECT_EQ(Small(0).steps_to(0x8000), std::nullopt);
  EXPECT_EQ(Small(0xffff).steps_to(0x7ffe), 0x7fff);
}

TEST(Serial, MovesForwardAndBackward) {
  EXPECT_EQ(Number(2).moved_by(-3), Number(UINT32_MAX));
  EXPECT_EQ(Number(UINT32_MAX) + 2, Number(1));
  Number next(UINT32_MAX);
  EXPECT_EQ(++next, Number(0));
}

TEST(SerialDeathTest, AddingHalfTheRangeAborts) {
  EXPECT_EQ(Number(1) + 0x7fffffff, Number(0x80000000));
  EXPECT_DEATH(std::ignore = Number(1) + 0x80000000, "CHECK");
  EXPECT_DEATH(std::ignore = Number(1).known_steps_to(0x80000001), "CHECK");
}

}  // namespace
}  // namespace heddle
