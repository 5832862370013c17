// A heddle thread leaves signals to the program that it runs in.
#include "base/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <future>
#include <string>

#include "base/testing/no_more_threads.h"

namespace heddle {
namespace {

bool takes(int signal) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, signal) == 0;
}

TEST(Thread, BlocksSignalsAndHasItsName) {
  std::promise<void> named;
  bool took = true;
  std::string name(16, '\0');
  Thread thread = start_thread("heddle-test", [&] {
                    named.get_future().wait();
                    took = takes(SIGINT) || takes(SIGUSR1);
                    pthread_getname_np(pthread_self(), name.data(), name.size());
                  }).value();
  named.set_value();
  thread.join();
  EXPECT_FALSE(took);
  EXPECT_STREQ(name.c_str(), "heddle-test");
}

TEST(Thread, LeavesTheCallersSignalMaskUnchanged) {
  const bool before = takes(SIGINT);
  start_thread("heddle-test", [] {}).value().join();
  EXPECT_EQ(takes(SIGINT), before);
  EXPECT_TRUE(before);
}

TEST(Thread, StartReturnsAnErrorAtTheThreadLimitAndThrowsNothing) {
  {
    const NoMoreThreads limit;
    const Result<Thread> none = start_thread("heddle-test", [] {});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::kExhausted);
  }
  start_thread("heddle-test", [] {}).value().join();
}

}  // namespace
}  // namespace heddle
