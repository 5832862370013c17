// The events that the transport emits for a connection and its messages.
#include <gtest/gtest.h>

#include "events/memory_sink.h"
#include "transport/testing/pair_fixture.h"

namespace heddle::transport {
namespace {

using testing::PairFixture;

class EventsTest : public PairFixture {
 protected:
  void start_watched() {
    testing::PairOptions options;
    options.sink = &sink_;
    start(std::move(options));
  }

  events::MemorySink sink_;  // of both sides
};

TEST_F(EventsTest, BothSidesTellOfTheSameConnection) {
  start_watched();
  const auto opened = sink_.all<events::ConnectionOpened>();
  ASSERT_EQ(opened.size(), 2u);
  EXPECT_EQ(opened[0].connection, opened[1].peer_connection);
  EXPECT_EQ(opened[1].connection, opened[0].peer_connection);
  EXPECT_GT(opened[0].paths, 0u);
}

TEST_F(EventsTest, AMessageIsToldOnceByEachSideAndInOrder) {
  start_watched();
  for (OperationId i = 0; i < 3; ++i) {
    receive(i * 100'000, 100'000, i, 2);
    send(i * 100'000, 50'000 + i, i, 2);
  }
  ASSERT_TRUE(run_until_completed(3, 3));
  const auto completed = sink_.all<events::MessageCompleted>();
  ASSERT_EQ(completed.size(), 6u);
  for (const auto direction : {events::Direction::kSent, events::Direction::kReceived}) {
    uint32_t number = 0;
    for (const events::MessageCompleted& event : completed) {
      if (event.direction != direction) continue;
      EXPECT_EQ(event.channel, 2u);
      EXPECT_EQ(event.bytes, 50'000 + number);
      EXPECT_EQ(event.sequence - completed.front().sequence, number);
      EXPECT_EQ(event.connection, direction == events::Direction::kSent ? client_ : server_);
      ++number;
    }
    EXPECT_EQ(number, 3u);
  }
}

TEST_F(EventsTest, AMessageEventHasTheTimeSinceItsPost) {
  start_watched();
  receive(0, 1000, 1);
  pair_->run_for(millis(3));
  const Nanos posted = pair_->now();
  send(0, 1000, 1);
  ASSERT_TRUE(run_until_completed(1, 1));
  const auto completed = sink_.all<events::MessageCompleted>();
  ASSERT_EQ(completed.size(), 2u);
  for (const events::MessageCompleted& event : completed) {
    const Nanos earlier = event.direction == events::Direction::kSent ? Nanos{} : millis(3);
    EXPECT_EQ(event.since_posted, event.time - posted + earlier);
  }
}

TEST_F(EventsTest, AFailedMessageHasNoEvent) {
  start_watched();
  receive(0, 1000, 1);
  send(0, 5000, 1);  // longer than its receive
  ASSERT_TRUE(run_until_completed(1, 1));
  EXPECT_FALSE(ended(0)[0].ok);
  EXPECT_TRUE(sink_.all<events::MessageCompleted>().empty());
}

}  // namespace
}  // namespace heddle::transport
