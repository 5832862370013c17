// Every piece of work is done once, and an exception comes out of the thread that it was thrown on.
#include "planner/paths/at_once.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace heddle::planner {
namespace {

TEST(AtOnce, DoesEachPieceOnce) {
  for (const uint32_t threads : {0U, 1U, 3U, 40U}) {
    for (const uint32_t count : {0U, 1U, 2U, 25U}) {
      std::vector<std::atomic<int>> done(count);
      for_each_at_once(count, threads, [&](uint32_t i) { ++done[i]; });
      for (uint32_t i = 0; i < count; ++i) EXPECT_EQ(done[i], 1) << threads << " " << i;
    }
  }
}

TEST(AtOnce, ThrowsOnWhatAPieceThrows) {
  for (const uint32_t threads : {1U, 3U}) {
    std::atomic<int> done = 0;
    const auto work = [&](uint32_t i) {
      if (i % 4 == 1) throw std::runtime_error("no memory");
      ++done;
    };
    EXPECT_THROW(for_each_at_once(16, threads, work), std::runtime_error);
    EXPECT_EQ(done, 12) << threads;
  }
}

}  // namespace
}  // namespace heddle::planner
