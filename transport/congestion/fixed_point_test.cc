// The roots and quotients that the congestion controllers are built on are exact.
#include "transport/congestion/fixed_point.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace heddle::transport {
namespace {

TEST(FixedPoint, CubeRootIsTheLargestWhoseCubeFits) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const Uint128 x =
        (static_cast<Uint128>(random.next()) << 64 | random.next()) >> random.between(2, 127);
    const Uint128 root = cube_root(x);
    EXPECT_LE(root * root * root, x);
    EXPECT_GT((root + 1) * (root + 1) * (root + 1), x);
  }
}

TEST(FixedPoint, CubeRootOfPerfectCubesAndTheirNeighbours) {
  EXPECT_EQ(cube_root(0), 0u);
  EXPECT_EQ(cube_root(1), 1u);
  for (const uint64_t root : {2ull, 3ull, 10ull, 1000ull, 123'456'789ull, 4'000'000'000'000ull}) {
    const Uint128 cube = static_cast<Uint128>(root) * root * root;
    EXPECT_EQ(cube_root(cube), root);
    EXPECT_EQ(cube_root(cube - 1), root - 1);
    EXPECT_EQ(cube_root(cube + 1), root);
  }
}

TEST(FixedPoint, SquareRootIsTheLargestWhoseSquareFits) {
  Random random(2);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t x = random.next() >> random.below(64);
    const Uint128 root = square_root(x);
    EXPECT_LE(root * root, x);
    EXPECT_GT((root + 1) * (root + 1), x);
  }
  EXPECT_EQ(square_root(UINT64_MAX), 0xffffffffu);
}

TEST(FixedPoint, MultiplyDivideUses128Bits) {
  EXPECT_EQ(multiply_divide(uint64_t{1} << 62, 6, 3), uint64_t{1} << 63);
  EXPECT_EQ(multiply_divide(7, 3, 2), 10u);
}

TEST(FixedPoint, CarryLosesNothingOverManySmallSteps) {
  Carry carry;
  uint64_t sum = 0;
  for (int i = 0; i < 1'000'000; ++i) sum += carry.take(1, 3, 1'000);
  EXPECT_EQ(sum, 3'000u);
}

}  // namespace
}  // namespace heddle::transport
