// Behaviour of the timer heap, by example and against a naive model.
#include "transport/connection/timer_heap.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace heddle::transport {
namespace {

TEST(TimerHeapTest, AnEmptyOneIsNeverDue) {
  const TimerHeap heap;
  EXPECT_TRUE(heap.empty());
  EXPECT_EQ(heap.next(), Nanos::never());
}

TEST(TimerHeapTest, TheEarliestComesFirst) {
  TimerHeap heap;
  heap.set(3, millis(30));
  heap.set(1, millis(10));
  heap.set(2, millis(20));
  EXPECT_EQ(heap.next_slot(), 1u);
  heap.set(1, Nanos::never());
  EXPECT_EQ(heap.next_slot(), 2u);
  EXPECT_EQ(heap.next(), millis(20));
}

TEST(TimerHeapTest, ASlotStandsInItOnce) {
  TimerHeap heap;
  heap.set(5, millis(10));
  heap.set(5, millis(20));
  heap.set(5, millis(5));
  EXPECT_EQ(heap.next(), millis(5));
  heap.set(5, Nanos::never());
  EXPECT_TRUE(heap.empty());
}

TEST(TimerHeapTest, TakingOutWhatIsNotThereChangesNothing) {
  TimerHeap heap;
  heap.set(7, Nanos::never());
  EXPECT_TRUE(heap.empty());
  heap.set(2, millis(1));
  heap.set(7, Nanos::never());
  EXPECT_EQ(heap.next_slot(), 2u);
}

TEST(TimerHeapDeathTest, AnEmptyOneHasNoNextSlot) {
  const TimerHeap heap;
  EXPECT_DEATH(static_cast<void>(heap.next_slot()), "CHECK failed");
}

TEST(TimerHeapTest, AgreesWithANaiveModel) {
  Random random(2);
  TimerHeap heap;
  std::map<uint32_t, Nanos> model;
  for (int step = 0; step < 20'000; ++step) {
    const auto slot = static_cast<uint32_t>(random.below(60));
    if (random.below(4) == 0) {
      heap.set(slot, Nanos::never());
      model.erase(slot);
    } else {
      const Nanos at{static_cast<int64_t>(random.below(50))};
      heap.set(slot, at);
      model[slot] = at;
    }
    Nanos earliest = Nanos::never();
    for (const auto& [known, at] : model) earliest = std::min(earliest, at);
    ASSERT_EQ(heap.next(), earliest);
    ASSERT_EQ(heap.empty(), model.empty());
    if (!model.empty()) {
      ASSERT_EQ(model.at(heap.next_slot()), earliest);
    }
  }
}

}  // namespace
}  // namespace heddle::transport
