// Which call begins next, and its number.
#include "collectives/communicator/call_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::collectives {
namespace {

constexpr uint32_t kRank = 1;

Call message(Collective collective, uint32_t peer) {
  return {.collective = collective, .root = peer};
}

class CallQueueTest : public testing::Test {
 protected:
  uint64_t add(Call call) {
    WaitingCall waiting = queue_.number(std::move(call), ++requests_);
    const uint64_t number = waiting.number;
    queue_.push(std::move(waiting));
    return number;
  }

  CallQueue queue_{kRank, 4};
  uint64_t requests_ = 0;
};

TEST_F(CallQueueTest, CollectivesAreNumberedFromOneAndBeginInTheirOrder) {
  EXPECT_EQ(add({.collective = Collective::kBarrier}), 1u);
  EXPECT_EQ(add({.collective = Collective::kAllReduce, .algorithm = Algorithm::kTree}), 2u);
  EXPECT_EQ(queue_.next_number(), 3u);
  EXPECT_EQ(queue_.take_collective().call.collective, Collective::kBarrier);
  const WaitingCall second = queue_.take_collective();
  EXPECT_EQ(second.number, 2u);
  EXPECT_EQ(second.request, 2u);
  EXPECT_EQ(second.algorithm, Algorithm::kTree);
  EXPECT_FALSE(queue_.any_collective());
}

TEST_F(CallQueueTest, AMessageWaitsForTheOnesBeforeItOnItsStreamOnly) {
  EXPECT_EQ(add(message(Collective::kSend, 2)), 0u);
  EXPECT_EQ(add(message(Collective::kSend, 2)), 1u);
  EXPECT_EQ(add(message(Collective::kReceive, 2)), 0u);
  EXPECT_EQ(add(message(Collective::kSend, 3)), 0u);
  std::vector<uint64_t> begun;
  size_t at = 0;
  std::optional<WaitingCall> first = queue_.take_message(at);
  ASSERT_TRUE(first);
  begun.push_back(first->request);
  while (const auto next = queue_.take_message(at)) begun.push_back(next->request);
  EXPECT_EQ(begun, (std::vector<uint64_t>{1, 3, 4}));
  EXPECT_TRUE(queue_.any_message()) << "the second to rank 2";
  queue_.note_posted(first->call);
  at = 0;
  const std::optional<WaitingCall> second = queue_.take_message(at);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->request, 2u);
}

TEST_F(CallQueueTest, AMessageToThisRankMeetsItsReceiveAndBeginsNowhereElse) {
  add(message(Collective::kSend, kRank));
  EXPECT_FALSE(queue_.own_pair());
  add(message(Collective::kSend, 2));
  add(message(Collective::kReceive, kRank));
  const auto pair = queue_.own_pair();
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->send->request, 1u);
  EXPECT_EQ(pair->receive->request, 3u);
  queue_.erase(*pair);
  size_t at = 0;
  EXPECT_EQ(queue_.take_message(at)->request, 2u);
  EXPECT_FALSE(queue_.any_message());
}

TEST_F(CallQueueTest, AllThatWaitEndOnce) {
  add(message(Collective::kReceive, 2));
  add({.collective = Collective::kBarrier});
  add(message(Collective::kSend, kRank));
  std::vector<uint64_t> ended;
  queue_.drain([&ended](uint64_t request) { ended.push_back(request); });
  EXPECT_EQ(ended, (std::vector<uint64_t>{2, 1, 3}));
  queue_.drain([](uint64_t request) { ADD_FAILURE() << request; });
}

}  // namespace
}  // namespace heddle::collectives
