// The helper runs exactly while it has clients, wakes by time and by input, and blocks all signals.
#include "engine/helper_thread.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/testing/refused_call.h"

namespace heddle::engine {
namespace {

class Client final : public HelperClient {
 public:
  explicit Client(Look answer, int descriptor = -1) : answer_(answer), descriptor_(descriptor) {}
  Look helper_look() override {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    blocks_signals = sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGTERM) == 1;
    looks.fetch_add(1);
    return answer_;
  }
  int descriptor() const override { return descriptor_; }

  // True if `count` checks happen before a timeout that only a failure reaches.
  bool reaches(int count) const {
    for (int i = 0; i < 60'000 && looks < count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return looks >= count;
  }

  std::atomic<int> looks{0};
  std::atomic<bool> blocks_signals{false};

 private:
  const Look answer_;
  const int descriptor_;
};

TEST(HelperThread, RunsWhileItHasClients) {
  HelperThread helper;
  EXPECT_FALSE(helper.running());
  for (int round = 0; round < 3; ++round) {
    Client first({.after = millis(1)});
    Client second({.after = millis(1)});
    ASSERT_TRUE(helper.add(first));
    ASSERT_TRUE(helper.add(second));
    EXPECT_TRUE(helper.running());
    EXPECT_TRUE(first.reaches(3));
    EXPECT_TRUE(first.blocks_signals);
    helper.remove(first);
    EXPECT_TRUE(helper.running());
    EXPECT_TRUE(second.reaches(3));
    helper.remove(second);
    EXPECT_FALSE(helper.running());
  }
}

TEST(HelperThread, InputWakesItOncePerCheck) {
  HelperThread helper;
  const int descriptor = eventfd(0, EFD_CLOEXEC);
  {
    Client client({.after = Nanos::never(), .on_input = true}, descriptor);
    ASSERT_TRUE(helper.add(client));
    ASSERT_TRUE(client.reaches(1));
    const uint64_t one = 1;
    ASSERT_EQ(write(descriptor, &one, sizeof one), ssize_t{sizeof one});
    EXPECT_TRUE(client.reaches(2));
    helper.remove(client);
  }
  uint64_t drained = 0;
  ASSERT_EQ(read(descriptor, &drained, sizeof drained), ssize_t{sizeof drained});
  // A client that does not request input is not checked although its descriptor is readable.
  Client deaf({.after = Nanos::never(), .on_input = false}, descriptor);
  ASSERT_TRUE(helper.add(deaf));
  ASSERT_TRUE(deaf.reaches(1));
  const uint64_t one = 1;
  ASSERT_EQ(write(descriptor, &one, sizeof one), ssize_t{sizeof one});
  Client other({.after = millis(1)});
  ASSERT_TRUE(helper.add(other));
  EXPECT_TRUE(other.reaches(20));
  EXPECT_EQ(deaf.looks, 1);
  helper.remove(other);
  helper.remove(deaf);
  close(descriptor);
}

// With EPERM its thread once looped without sleeping, and never saw input.
TEST(HelperThread, WhereEpollPwait2IsRefusedTimeAndInputWakeIt) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not allow threads in the child of a threaded process";
#endif
  constexpr int kNoFilters = 77;
  for (const int error : {EPERM, ENOSYS}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (!refuse_call(__NR_epoll_pwait2, static_cast<uint32_t>(error))) _exit(kNoFilters);
      const int descriptor = eventfd(1, EFD_CLOEXEC);  // readable from the start
      Client reader({.after = Nanos::never(), .on_input = true}, descriptor);
      Client timer({.after = millis(1)});
      HelperThread helper;
      const bool works =
          helper.add(reader) && reader.reaches(20) && helper.add(timer) && timer.reaches(5);
      helper.remove(reader);
      helper.remove(timer);
      _exit(works ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNoFilters) {
      GTEST_SKIP() << "seccomp filters do not work here";
    }
    EXPECT_EQ(status, 0) << strerror(error);
  }
}

TEST(HelperThread, NudgeMakesACheckDue) {
  HelperThread helper;
  Client client({.after = Nanos::never()});
  ASSERT_TRUE(helper.add(client));
  for (int looks = 1; looks < 50; ++looks) {
    ASSERT_TRUE(client.reaches(looks));
    helper.nudge(client);
  }
  EXPECT_TRUE(client.reaches(50));
  helper.remove(client);
}

TEST(HelperThread, ChildOfForkGetsItsOwnThread) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not allow threads in the child of a threaded process";
#endif
  HelperThread& parents = HelperThread::of_process();
  Client client({.after = millis(1)});
  ASSERT_TRUE(parents.add(client));
  ASSERT_TRUE(client.reaches(1));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Client own({.after = millis(1)});
    HelperThread& childs = HelperThread::of_process();
    ASSERT_TRUE(childs.add(own));
    const bool works = &childs != &parents && own.reaches(2);
    childs.remove(own);
    _exit(works ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  parents.remove(client);
}

}  // namespace
}  // namespace heddle::engine
