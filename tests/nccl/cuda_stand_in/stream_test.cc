// Order within a stream, and between streams by events.
#include "tests/nccl/cuda_stand_in/stream.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::cuda_stand_in {
namespace {

TEST(Stream, RunsWorkInOrder) {
  auto stream = Stream::create();
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) stream->submit([&order, i] { order.push_back(i); });
  stream->synchronize();
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
}

TEST(Event, HoldsLaterWorkOfAnotherStream) {
  auto first = Stream::create();
  auto second = Stream::create();
  auto held = std::make_shared<Event>();
  bool ran = false;
  bool ran_before = false;
  first->submit([&] { ran = true; });
  held->record(*first);
  held->wait_on(*second);
  second->submit([&] { ran_before = ran; });
  second->synchronize();
  EXPECT_TRUE(ran_before);
  EXPECT_TRUE(held->reached());
}

TEST(Event, ThatWasNeverRecordedIsReached) {
  auto event = std::make_shared<Event>();
  EXPECT_TRUE(event->reached());
  event->synchronize();
}

}  // namespace
}  // namespace heddle::cuda_stand_in
