// Slots: sequences of them in private memory, and in shared memory.
#include "collectives/execution/slots.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "engine/testing/endpoint_pair.h"

namespace heddle::collectives {
namespace {

constexpr uint64_t kBytes = 4096;
constexpr uint64_t kRow = kBytes * SlotPool::kSlabSlots;

class SlotPoolTest : public testing::Test {
 protected:
  SlotPoolTest() : endpoints_(engine::make_endpoints({})) {}

  std::vector<Slot> lend(SlotPool& pool, uint32_t count) {
    std::vector<Slot> slots;
    for (uint32_t i = 0; i < count; ++i) {
      Result<Slot> slot = pool.lend();
      EXPECT_TRUE(slot.has_value());
      slots.push_back(*slot);
    }
    return slots;
  }
  static bool within(const Slot& slot, const std::vector<std::byte>& memory) {
    return slot.start >= memory.data() && slot.start + kBytes <= memory.data() + memory.size();
  }

  engine::EndpointPair endpoints_;
};

TEST_F(SlotPoolTest, SlotsAreApartAndAreLentAgain) {
  SlotPool pool(*endpoints_.client, kBytes);
  std::vector<Slot> slots = lend(pool, SlotPool::kSlabSlots + 1);
  std::set<std::byte*> starts;
  for (const Slot& slot : slots) starts.insert(slot.start);
  EXPECT_EQ(starts.size(), slots.size());
  std::byte* const last = slots.back().start;
  pool.give_back(slots.back());
  EXPECT_EQ(slots.back().start, nullptr);
  EXPECT_EQ(pool.lent(), SlotPool::kSlabSlots);
  EXPECT_EQ(lend(pool, 1)[0].start, last);
}

TEST_F(SlotPoolTest, RowsThatFitIntoSharedMemoryAreAllThere) {
  std::vector<std::byte> shared(kRow);
  SlotPool pool(*endpoints_.client, kBytes, shared);
  const std::vector<Slot> slots = lend(pool, 2 * SlotPool::kSlabSlots);
  for (const Slot& slot : slots) EXPECT_TRUE(within(slot, shared));
  EXPECT_NE(slots[0].start, slots[1].start);
  EXPECT_EQ(slots[0].start, slots[SlotPool::kSlabSlots].start) << "on top of each other";
  EXPECT_NE(slots[0].place.region, slots[SlotPool::kSlabSlots].place.region);
}

TEST_F(SlotPoolTest, RowsThatDoNotFitHaveMemoryOfTheirOwn) {
  std::vector<std::byte> shared(kRow - 1);
  SlotPool pool(*endpoints_.client, kBytes, shared);
  for (const Slot& slot : lend(pool, 2)) EXPECT_FALSE(within(slot, shared));
}

}  // namespace
}  // namespace heddle::collectives
