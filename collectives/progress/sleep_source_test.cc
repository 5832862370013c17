// The kernel's view of threads: what sleeps on an object is found, and nothing else is.
#include "collectives/progress/sleep_source.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

namespace heddle::collectives {
namespace {

constexpr uintptr_t kMark = 0x5eed'face'f00d;

// As a future of another library.
struct Future {
  uintptr_t first = kMark;
  std::array<char, 40> other{};
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;

  void wait() {
    std::unique_lock lock(mutex);
    ended.wait(lock, [this] { return done; });
  }
  void end() {
    const std::lock_guard lock(mutex);
    done = true;
    ended.notify_all();
  }
};

const AwaitedObject kFuture{sizeof(Future), {0, kMark}};

// A thread of the test, whose number is known once it is made.
class Numbered {
 public:
  explicit Numbered(std::function<void()> work)
      : thread_([this, work = std::move(work)] {
          number_ = calling_thread();
          work();
        }) {
    while (number_ == 0) std::this_thread::yield();
  }
  ThreadId number() const { return number_; }
  void join() { thread_.join(); }

 private:
  std::atomic<ThreadId> number_ = 0;
  std::thread thread_;
};

class Sleep : public ::testing::Test {
 protected:
  void until(bool sleeps, const Numbered& thread) {
    while (source_.sleeps_on(thread.number(), kFuture) != sleeps) std::this_thread::yield();
  }

  KernelSleepSource source_;
};

TEST_F(Sleep, OnTheObjectIsSeenUntilItEnds) {
  Future future;
  std::atomic<bool> over = false;
  Numbered thread([&] {
    future.wait();
    while (!over) std::this_thread::yield();
  });
  until(true, thread);
  EXPECT_FALSE(source_.sleeps_on(thread.number(), {sizeof(Future), {kMark + 1, 0}}));
  EXPECT_FALSE(source_.sleeps_on(thread.number(), {}));
  EXPECT_FALSE(source_.sleeps_on(thread.number(), {8, {kMark, 0}}));  // it would be too short
  EXPECT_TRUE(source_.sleeps_on(thread.number(), kFuture));
  future.end();
  until(false, thread);
  EXPECT_FALSE(source_.sleeps_on(thread.number(), kFuture));
  over = true;
  thread.join();
}

TEST_F(Sleep, OnAnotherObjectIsNone) {
  Future other;
  other.first = 1;
  Numbered thread([&] { other.wait(); });
  // It is asleep once this object would be found.
  while (!source_.sleeps_on(thread.number(), {sizeof(Future), {1, 0}})) std::this_thread::yield();
  EXPECT_FALSE(source_.sleeps_on(thread.number(), kFuture));
  other.end();
  thread.join();
}

TEST_F(Sleep, OfAThreadThatComputesOrHasEndedIsNone) {
  std::atomic<bool> over = false;
  Numbered thread([&] {
    while (!over) continue;
  });
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(source_.sleeps_on(thread.number(), kFuture));
  over = true;
  thread.join();
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(source_.sleeps_on(thread.number(), kFuture));
  source_.forget(thread.number());
  EXPECT_FALSE(source_.sleeps_on(thread.number(), kFuture));
}

TEST_F(Sleep, OnAnObjectAtTheBeginningOfMemoryIsSeen) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const memory =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(munmap(memory, page), 0);
  auto* const future = new (static_cast<char*>(memory) + page) Future;
  Numbered thread([&] { future->wait(); });
  until(true, thread);
  future->end();
  thread.join();
  future->~Future();
  ASSERT_EQ(munmap(static_cast<char*>(memory) + page, page), 0);
}

}  // namespace
}  // namespace heddle::collectives
