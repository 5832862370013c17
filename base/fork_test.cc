// What a child of fork() may do with its parent's locks and objects.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <thread>

#include "base/own_mutex.h"
#include "base/own_process.h"
#include "base/per_process.h"

namespace heddle {
namespace {

// The exit status of a child, which a signal ends if it does not exit in time.
int in_child(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(check() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(OwnMutex, ChildDoesNotWaitForAMutexThatAThreadOfItsParentHolds) {
  OwnMutex mutex;
  const OwnMutex::Lock held = mutex.lock();
  EXPECT_EQ(in_child([&] { return mutex.in_child() && !mutex.enter() && !mutex.try_lock(); }), 0);
  EXPECT_FALSE(mutex.in_child());
}

TEST(OwnMutex, LockInAChildAbortsInsteadOfHanging) {
  OwnMutex mutex;
  const OwnMutex::Lock held = mutex.lock();
  EXPECT_EQ(WTERMSIG(in_child([&] { return mutex.lock().owns_lock(); })), SIGABRT);
}

TEST(OwnProcess, ChildGetsNullAndDestroysNothing) {
  bool destroyed = false;
  auto object = std::make_unique<OwnProcess<bool>>(
      std::shared_ptr<bool>(&destroyed, [](bool* flag) { *flag = true; }));
  EXPECT_EQ(object->here(), &destroyed);
  EXPECT_EQ(in_child([&] {
              const bool nothing = object->here() == nullptr;
              object.reset();
              return nothing && !destroyed;
            }),
            0);
  object.reset();
  EXPECT_TRUE(destroyed);
}

struct LockedValue {
  OwnMutex mutex;
  int value = 0;
};

TEST(PerProcess, ChildGetsANewInstanceWhileTheParentsIsLocked) {
  static constinit PerProcess<LockedValue> shared;
  LockedValue& mine = shared.get();
  const OwnMutex::Lock held = mine.mutex.lock();
  mine.value = 1;
  EXPECT_EQ(in_child([&] {
              LockedValue& own = shared.get();
              const OwnMutex::Lock lock = own.mutex.lock();
              return &own != &mine && &own == &shared.get() && own.value == 0;
            }),
            0);
  EXPECT_EQ(&shared.get(), &mine);
}

}  // namespace
}  // namespace heddle
