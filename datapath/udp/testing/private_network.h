// PrivateNetwork, for tests: a network namespace and a thread inside it, so that a test can set an
// MTU, a firewall or a slow queue without an effect on the host. Needs the right to create
// namespaces (root); otherwise create() returns the reason, with which the test is skipped.
#pragma once

#include <sched.h>

#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/result.h"

namespace heddle::datapath {

class PrivateNetwork {
 public:
  // Loopback is up. Errors: kPermission.
  static Result<std::unique_ptr<PrivateNetwork>> create() {
    std::unique_ptr<PrivateNetwork> made(new PrivateNetwork());
    int error = 0;
    made->run([&error] { error = unshare(CLONE_NEWNET) == 0 ? 0 : errno; });
    if (error != 0) {
      return fail(ErrorCode::kPermission, "cannot make a network namespace", std::strerror(error),
                  "run the tests as root");
    }
    if (Result<void> up = made->command("ip link set lo up"); !up) return fail(up.error());
    return made;
  }

  ~PrivateNetwork() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // Runs `work` in the namespace and waits for it.
  void run(const std::function<void()>& work) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    changed_.notify_all();
    changed_.wait(lock, [this] { return work_ == nullptr; });
  }

  // Runs a shell command in the namespace. Errors: kUnavailable if the command fails.
  Result<void> command(const std::string& line) {
    int status = 0;
    run([&] { status = std::system((line + " >/dev/null 2>&1").c_str()); });
    if (status == 0) return {};
    return fail(ErrorCode::kUnavailable, "`" + line + "` failed", "", "is the program installed?");
  }

 private:
  PrivateNetwork() : thread_([this] { serve(); }) {}

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return over_ || work_ != nullptr; });
      if (over_) return;
      (*work_)();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace heddle::datapath
