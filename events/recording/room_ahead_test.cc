// Blocks are prepared before writers reach them, in order and once per cycle; when the disk is
// full, no further request is made.
#include "events/recording/room_ahead.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace heddle::events::recording {
namespace {

// The requested block numbers, in order.
class Asked {
 public:
  bool take(uint32_t first, uint32_t count) {
    const std::lock_guard lock(mutex_);
    for (uint32_t block = first; block < first + count; ++block) blocks_.push_back(block);
    changed_.notify_all();
    return blocks_.size() < room_;
  }
  // Waits until there are at least `blocks`.
  std::vector<uint32_t> wait_for(size_t blocks) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return blocks_.size() >= blocks; });
    return blocks_;
  }
  void give_room(size_t blocks) { room_ = blocks; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<uint32_t> blocks_;
  size_t room_ = SIZE_MAX;
};

std::vector<uint32_t> in_turn(uint32_t count, uint32_t blocks) {
  std::vector<uint32_t> turn;
  for (uint32_t i = 0; i < count; ++i) turn.push_back(i % blocks);
  return turn;
}

TEST(RoomAhead, BlocksArePreparedBeforeAWriterReachesThem) {
  Asked asked;
  RoomAhead ahead(20, [&](uint32_t first, uint32_t count) { return asked.take(first, count); });
  EXPECT_EQ(asked.wait_for(16), in_turn(16, 20));
  for (uint64_t sequence = 0; sequence <= 12; ++sequence) ahead.reached(sequence);
  const std::vector<uint32_t> more = asked.wait_for(21);  // wraps around
  EXPECT_GE(more.size(), 21u);
  EXPECT_EQ(more, in_turn(static_cast<uint32_t>(more.size()), 20));
}

TEST(RoomAhead, ASmallRingIsPreparedOnce) {
  Asked asked;
  {
    RoomAhead ahead(2, [&](uint32_t first, uint32_t count) { return asked.take(first, count); });
    asked.wait_for(2);
  }
  EXPECT_EQ(asked.wait_for(2), in_turn(2, 2));
}

TEST(RoomAhead, BlocksThatWritersHavePassedAreSkipped) {
  Asked asked;
  RoomAhead ahead(1000, [&](uint32_t first, uint32_t count) { return asked.take(first, count); });
  asked.wait_for(16);
  ahead.reached(500);
  const std::vector<uint32_t> blocks = asked.wait_for(32);
  ASSERT_EQ(blocks.size(), 32u);
  EXPECT_EQ(blocks[16], 501u);
}

TEST(RoomAhead, AFullDiskEndsTheRequests) {
  Asked asked;
  asked.give_room(8);
  {
    RoomAhead ahead(100, [&](uint32_t first, uint32_t count) { return asked.take(first, count); });
    asked.wait_for(8);
    for (uint64_t sequence = 1; sequence <= 50; ++sequence) ahead.reached(sequence);
  }
  EXPECT_EQ(asked.wait_for(8), in_turn(8, 100));
}

}  // namespace
}  // namespace heddle::events::recording
