// The event queue: ordered by time, then by insertion, for any interleaving.
#include "simulator/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace heddle::simulator {
namespace {

TEST(EventQueue, AnEmptyQueueHasNoNextTime) {
  const EventQueue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.next_at(), Nanos::never());
}

TEST(EventQueue, EqualTimesComeInInsertionOrder) {
  EventQueue queue;
  for (uint32_t i = 0; i < 1'000; ++i) queue.push(nanos(i % 3), EventKind::kAgent, i);
  uint32_t last = 0;
  Nanos at;
  while (!queue.empty()) {
    const Event event = queue.pop();
    if (event.at == at) {
      EXPECT_GE(event.subject, last);
    }
    EXPECT_GE(event.at, at);
    at = event.at;
    last = event.subject;
  }
}

TEST(EventQueue, AgreesWithAStableSortUnderRandomUse) {
  Random random(5);
  EventQueue queue;
  std::vector<Event> model;
  uint64_t pushed = 0;
  const auto earlier = [](const Event& a, const Event& b) {
    return a.at != b.at ? a.at < b.at : a.order < b.order;
  };
  for (int step = 0; step < 20'000; ++step) {
    if (model.empty() || random.below(5) < 3) {
      const Nanos at = nanos(static_cast<int64_t>(random.below(200)));
      queue.push(at, EventKind::kPacket, static_cast<uint32_t>(step));
      model.push_back({at, pushed++, EventKind::kPacket, static_cast<uint32_t>(step)});
    } else {
      const auto first = std::min_element(model.begin(), model.end(), earlier);
      ASSERT_EQ(queue.next_at(), first->at);
      ASSERT_EQ(queue.pop().subject, first->subject);
      model.erase(first);
    }
    ASSERT_EQ(queue.size(), model.size());
  }
}

// Realistic use: never the past, mostly near events, sometimes far beyond the wheel.
TEST(EventQueue, AgreesWithAStableSortForNearAndFarEvents) {
  Random random(6);
  EventQueue queue;
  std::vector<Event> model;
  uint64_t pushed = 0;
  Nanos now = seconds(1);
  const auto later = [](const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  };
  for (int step = 0; step < 100'000; ++step) {
    if (model.empty() || random.below(20) < (step / 10'000 % 2 == 0 ? 11u : 9u)) {
      const uint64_t reach = uint64_t{1} << random.below(22);
      const Nanos at = now + nanos(static_cast<int64_t>(random.below(reach)));
      queue.push(at, EventKind::kPacket, static_cast<uint32_t>(step));
      model.push_back({at, pushed++, EventKind::kPacket, static_cast<uint32_t>(step)});
      std::push_heap(model.begin(), model.end(), later);
    } else {
      std::pop_heap(model.begin(), model.end(), later);
      ASSERT_EQ(queue.next_at(), model.back().at);
      const Event event = queue.pop();
      ASSERT_EQ(event.subject, model.back().subject);
      now = event.at;
      model.pop_back();
    }
    ASSERT_EQ(queue.size(), model.size());
  }
}

}  // namespace
}  // namespace heddle::simulator
