// PoolShare: what greedy borrowers leave for others.
#include "base/pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace heddle {
namespace {

struct Borrower {
  explicit Borrower(Pool<int>& pool) : share(pool) {}
  ~Borrower() {
    for (const uint32_t index : held) share.give_back(index);
  }
  bool take() {
    const uint32_t index = share.lend();
    if (index != kNoIndex) held.push_back(index);
    return index != kNoIndex;
  }
  PoolShare<int> share;
  std::vector<uint32_t> held;
};

TEST(PoolShare, LendsTwoThirdsToASingleBorrower) {
  Pool<int> pool(3000);
  Borrower one(pool);
  while (one.take()) {
  }
  EXPECT_EQ(one.share.lent(), 2000u);
}

// Regression: peers that acknowledged nothing held all records of an endpoint, and other
// connections could not send: 55 of them were enough.
TEST(PoolShare, LeavesObjectsForALateBorrowerForAnyNumberOfGreedyOnes) {
  for (const uint32_t greedy : {1u, 55u, 4096u}) {
    Pool<int> pool(1u << 16);
    std::vector<std::unique_ptr<Borrower>> all;
    for (uint32_t i = 0; i < greedy; ++i) all.push_back(std::make_unique<Borrower>(pool));
    for (bool any = true; any;) {
      any = false;
      for (const auto& each : all) any = each->take() || any;
    }
    Borrower late(pool);
    uint32_t got = 0;
    while (late.take()) ++got;
    // Two thirds of what the greedy borrowers leave.
    EXPECT_GE(got + 1, (1u << 16) / (2 * greedy + 1) * 2 / 3) << greedy;
  }
}

TEST(PoolShare, ReturnedObjectsCanBeLentAgain) {
  Pool<int> pool(9);
  Borrower one(pool);
  while (one.take()) {
  }
  EXPECT_EQ(one.share.lent(), 6u);
  one.share.give_back(one.held.back());
  one.held.pop_back();
  EXPECT_EQ(pool.lent(), 5u);
  EXPECT_TRUE(one.take());
  EXPECT_FALSE(one.take());
}

}  // namespace
}  // namespace heddle
