// Places of a pool: exhaustion, reuse, and threads that take and return at once.
#include "plugins/nccl/profiler/slot_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace heddle::nccl {
namespace {

struct Object {
  std::atomic<int> owners{0};
};
using Pool = SlotPool<Object>;

TEST(SlotPool, GivesEachPlaceOnceAndNoneWhenAllAreTaken) {
  Pool pool(3);
  std::set<uint32_t> places;
  for (int i = 0; i < 3; ++i) places.insert(pool.take());
  EXPECT_EQ(places, (std::set<uint32_t>{0, 1, 2}));
  EXPECT_EQ(pool.take(), Pool::kNone);
  pool.give_back(1);
  EXPECT_EQ(pool.take(), 1u);
  EXPECT_EQ(pool.take(), Pool::kNone);
}

TEST(SlotPool, APlaceThatWasNeverTakenHasNoObject) {
  Pool pool(3);
  EXPECT_EQ(pool.at(0), nullptr);
  pool.take();
  EXPECT_NE(pool.at(0), nullptr);
  EXPECT_EQ(pool.at(1), nullptr);
  EXPECT_EQ(pool.at(60'000), nullptr);
}

TEST(SlotPool, NoTwoThreadsHaveAPlaceAtATime) {
  Pool pool(4);  // fewer than threads, so that it is often empty
  std::atomic<int> shared{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20'000; ++round) {
        const uint32_t place = pool.take();
        if (place == Pool::kNone) continue;
        if (pool[place].owners.fetch_add(1) != 0) ++shared;
        pool[place].owners.fetch_sub(1);
        pool.give_back(place);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared, 0);
  std::set<uint32_t> places;
  for (int i = 0; i < 4; ++i) places.insert(pool.take());
  EXPECT_EQ(places.size(), 4u);
  EXPECT_EQ(pool.take(), Pool::kNone);
}

}  // namespace
}  // namespace heddle::nccl
