// Loop: a thread that works until its owner ends it, and what a publisher and a subscription do
// with it: pauses that the end cuts short, under the lock that guards what they share.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

#include "base/nanos.h"
#include "base/result.h"
#include "base/thread.h"

namespace heddle::messaging {

class Loop {
 public:
  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  Result<void> start_loop(const char* name, std::function<void()> work) {
    Result<Thread> thread = start_thread(name, std::move(work));
    if (!thread) return fail(std::move(thread).error());
    thread_ = std::move(*thread);
    return {};
  }

 protected:
  ~Loop() = default;

  // Waits for the thread. The destructor of what it works on begins with this.
  void end_loop() {
    {
      const std::scoped_lock lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  bool ends() const {
    const std::scoped_lock lock(mutex_);
    return ends_;
  }
  void pause_for(Nanos span) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::nanoseconds(span.count), [this] { return ends_; });
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;

 private:
  Thread thread_;
};

}  // namespace heddle::messaging
