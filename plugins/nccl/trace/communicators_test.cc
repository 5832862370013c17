// Communicators: handles that come, go and are used again, also from several threads.
#include "plugins/nccl/trace/communicators.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace heddle::nccl::trace {
namespace {

const void* handle_of(uintptr_t number) { return reinterpret_cast<const void*>(number << 4); }

TEST(Communicators, AHandleIsFoundUntilItsCommunicatorEnds) {
  const auto all = std::make_unique<Communicators>();
  EXPECT_EQ(all->find(handle_of(1)), nullptr);
  Communicator* const one = all->add(handle_of(1), 77);
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(all->find(handle_of(1)), one);
  EXPECT_EQ(one->number, 77u);
  all->remove(handle_of(1));
  EXPECT_EQ(all->find(handle_of(1)), nullptr);
}

// NCCL frees a communicator's memory, which is the next one's.
TEST(Communicators, AHandleThatIsUsedAgainIsAnotherCommunicatorWithFreshCounts) {
  const auto all = std::make_unique<Communicators>();
  Communicator* const first = all->add(handle_of(1), 1);
  first->calls = 9;
  EXPECT_EQ(first->next_message(false, 3), 1u);
  EXPECT_EQ(first->next_message(false, 3), 2u);
  Communicator* const second = all->add(handle_of(1), 2);
  EXPECT_EQ(all->find(handle_of(1)), second);
  EXPECT_EQ(second->number, 2u);
  EXPECT_EQ(second->calls, 0u);
  EXPECT_EQ(second->next_message(false, 3), 1u);
}

TEST(Communicators, MessagesAreCountedByPeerAndDirection) {
  Communicator communicator;
  EXPECT_EQ(communicator.next_message(false, 1), 1u);
  EXPECT_EQ(communicator.next_message(true, 1), 1u);
  EXPECT_EQ(communicator.next_message(false, 2), 1u);
  EXPECT_EQ(communicator.next_message(false, 1), 2u);
  EXPECT_EQ(communicator.next_message(false, UINT32_MAX), 1u);  // no such rank
}

TEST(Communicators, AsManyAsAreAllowedAndNoMore) {
  const auto all = std::make_unique<Communicators>();
  for (uintptr_t i = 1; i <= Communicators::kMost; ++i) {
    ASSERT_NE(all->add(handle_of(i), i), nullptr);
  }
  EXPECT_EQ(all->add(handle_of(Communicators::kMost + 1), 1), nullptr);
  for (uintptr_t i = 1; i <= Communicators::kMost; ++i) {
    ASSERT_NE(all->find(handle_of(i)), nullptr);
    EXPECT_EQ(all->find(handle_of(i))->number, i);
  }
  all->remove(handle_of(7));
  EXPECT_NE(all->add(handle_of(Communicators::kMost + 1), 1), nullptr);
}

TEST(Communicators, ManyThatComeAndGoLeaveTheOthersFound) {
  const auto all = std::make_unique<Communicators>();
  for (uintptr_t i = 1; i <= 100; ++i) all->add(handle_of(i), i);
  for (uintptr_t i = 1000; i < 50'000; ++i) {
    ASSERT_NE(all->add(handle_of(i), i), nullptr);
    all->remove(handle_of(i));
  }
  for (uintptr_t i = 1; i <= 100; ++i) {
    ASSERT_NE(all->find(handle_of(i)), nullptr);
    EXPECT_EQ(all->find(handle_of(i))->number, i);
  }
  EXPECT_EQ(all->find(handle_of(1000)), nullptr);
}

// Under TSan: threads create, use and end communicators at once.
TEST(Communicators, ThreadsFindTheirOwnWhileOthersComeAndGo) {
  const auto all = std::make_unique<Communicators>();
  std::vector<std::thread> threads;
  for (uintptr_t thread = 1; thread <= 4; ++thread) {
    threads.emplace_back([&all, thread] {
      for (uintptr_t i = 0; i < 2000; ++i) {
        const void* const handle = handle_of(thread * 100'000 + i);
        all->add(handle, i);
        const Communicator* const found = all->find(handle);
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(found->number, i);
        all->remove(handle);
      }
    });
  }
  for (std::thread& each : threads) each.join();
}

}  // namespace
}  // namespace heddle::nccl::trace
