// Queue pairs that the kernel ends slowly, without the thread that gives them away.
#include "datapath/verbs/queue_pair_ender.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <utility>

#include "datapath/verbs/params.h"
#include "datapath/verbs/testing/fake_verbs.h"

namespace heddle::datapath {
namespace {

class QueuePairEnderTest : public testing::Test {
 protected:
  std::unique_ptr<QueuePair> pair() {
    auto made = QueuePair::create(*device_, {.id = 2});
    EXPECT_TRUE(made) << made.error().message();
    return std::move(*made);
  }
  static bool is_readable(int descriptor, int at_most_ms) {
    pollfd one{.fd = descriptor, .events = POLLIN, .revents = 0};
    return poll(&one, 1, at_most_ms) == 1;
  }

  FakeVerbs fake_;
  std::shared_ptr<VerbsDevice> device_ = fake_.open();
};

TEST_F(QueuePairEnderTest, TheyEndInOrderWhileTheCallerGoesOn) {
  QueuePairEnder ender(device_);
  EXPECT_EQ(ender.ended(), 0u);
  fake_.hold_ends(true);
  EXPECT_EQ(ender.end(pair()), 1u);
  EXPECT_EQ(ender.end(pair()), 2u);
  EXPECT_EQ(ender.latest(), 2u);
  EXPECT_FALSE(ender.has_ended());
  EXPECT_FALSE(is_readable(ender.descriptor(), 0));
  fake_.hold_ends(false);
  EXPECT_TRUE(is_readable(ender.descriptor(), 60'000));
  ender.wait_for(2);
  EXPECT_TRUE(ender.has_ended());
  EXPECT_EQ(ender.ended(), 2u);
  EXPECT_FALSE(ender.has_ended());
  EXPECT_EQ(fake_.alive(), 0u);
  ender.take_notification();
  EXPECT_FALSE(is_readable(ender.descriptor(), 0));
}

TEST_F(QueuePairEnderTest, ItsEndWaitsForTheirs) {
  {
    QueuePairEnder ender(device_);
    for (int i = 0; i < 100; ++i) ender.end(pair());
  }
  EXPECT_EQ(fake_.alive(), 0u);
  EXPECT_EQ(device_.use_count(), 1);
}

TEST_F(QueuePairEnderTest, AQueuePairThatEndsLateKeepsTheDeviceUntilThen) {
  fake_.hold_ends(true);
  {
    QueuePairEnder ender(device_, millis(1));
    ender.end(pair());
    ender.end(pair());
  }
  EXPECT_EQ(fake_.alive(), 2u);
  const std::weak_ptr<VerbsDevice> device = device_;
  device_.reset();
  EXPECT_FALSE(device.expired());
  fake_.hold_ends(false);
  while (!device.expired()) std::this_thread::yield();
  EXPECT_EQ(fake_.alive(), 0u);
}

// Regression: from the 257th on the thread that drives waited for the end of the first one.
TEST_F(QueuePairEnderTest, TheCallerNeverWaitsHoweverManyEnd) {
  constexpr uint64_t kMany = 600;
  QueuePairEnder ender(device_);
  fake_.hold_ends(true);
  for (uint64_t i = 1; i <= kMany; ++i) EXPECT_EQ(ender.end(pair()), i);
  EXPECT_EQ(ender.waiting(), kMany);
  EXPECT_EQ(fake_.alive(), kMany);
  fake_.hold_ends(false);
  ender.wait_for(kMany);
  EXPECT_EQ(ender.waiting(), 0u);
  EXPECT_EQ(fake_.alive(), 0u);
}

// Regression: one that the kernel called busy counted as ended while its writes could land.
TEST_F(QueuePairEnderTest, OneThatIsBusyHasNotEnded) {
  QueuePairEnder ender(device_);
  std::unique_ptr<QueuePair> one = pair();
  fake_.be_busy(5 * verbs_params::kBusyTries / 2);
  EXPECT_EQ(ender.end(std::move(one)), 1u);
  ender.wait_for(1);
  EXPECT_EQ(fake_.alive(), 0u);
}

// In a process of its own, for its environment.
int end_beside_a_library_of_one_thread() {
  setenv("MLX5_SINGLE_THREADED", "1", 1);
  FakeVerbs fake;
  const std::shared_ptr<VerbsDevice> device = fake.open();
  QueuePairEnder ender(device);
  auto made = QueuePair::create(*device, {.id = 2});
  if (!made) return 1;
  if (ender.end(std::move(*made)) != 1 || ender.waiting() != 0) return 2;
  return fake.alive() == 0 ? 0 : 3;
}

void expect_success(int (*run)()) {
  const pid_t child = fork();
  if (child == 0) _exit(run());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(QueuePairEnderWithoutThreadsTest, TheyEndAtOnceWhereLibmlx5MayHaveNoSecondThread) {
  expect_success(end_beside_a_library_of_one_thread);
}

// In a process of its own, whose user may have no further thread.
int end_without_a_thread() {
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0) return 1;
  if (getuid() == 0 && setuid(65534) != 0) return 2;  // root has no such limit
  FakeVerbs fake;
  const std::shared_ptr<VerbsDevice> device = fake.open();
  QueuePairEnder ender(device);
  auto made = QueuePair::create(*device, {.id = 2});
  if (!made) return 3;
  if (ender.end(std::move(*made)) != 1 || ender.ended() != 1) return 4;
  ender.wait_for(1);
  return fake.alive() == 0 ? 0 : 5;
}

TEST(QueuePairEnderWithoutThreadsTest, TheyEndAtOnce) { expect_success(end_without_a_thread); }

}  // namespace
}  // namespace heddle::datapath
