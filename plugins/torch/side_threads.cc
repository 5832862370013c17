// SideThreads: see side_threads.h. Its state is never freed: threads may sleep in it while the
// process ends.
#include "plugins/torch/side_threads.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <utility>

#include "base/log.h"
#include "base/own_mutex.h"
#include "base/per_process.h"
#include "base/thread.h"
#include "plugins/torch/params.h"

namespace heddle::pytorch {
namespace {

using Task = std::function<void()>;

class SideThreads {
 public:
  Result<void> prepare() {
    OwnMutex::Lock lock = mutex_.lock();
    return threads_ > 0 ? Result<void>() : start(lock);
  }

  void run(Task task) {
    OwnMutex::Lock lock = mutex_.lock();
    if (ended_) {
      new Task(std::move(task));  // NOLINT: kept for ever, see end_side_threads()
      return;
    }
    tasks_.push_back(std::move(task));
    if (idle_ >= tasks_.size()) {
      wake_.notify_one();
      return;
    }
    // Without one it waits for those that there are, or for help().
    const Result<void> started = start(lock);
    static_cast<void>(started.has_value());
  }

  void help() {
    OwnMutex::Lock lock = mutex_.lock();
    if (idle_ >= tasks_.size() || start(lock)) return;
    run_one(lock);
  }

  void end(std::chrono::nanoseconds most) {
    OwnMutex::Lock lock = mutex_.lock();
    rest_.wait_for(lock, most, [this] { return tasks_.empty() && at_work_ == 0; });
    ended_ = true;
  }

 private:
  Result<void> start(OwnMutex::Lock& lock) {
    static_cast<void>(lock);
    Result<Thread> thread = start_thread("heddle-side", [this] { loop(); });
    if (!thread) return fail(thread.error());
    thread->detach();
    ++threads_;
    return {};
  }

  void loop() {
    OwnMutex::Lock lock = mutex_.lock();
    while (true) {
      ++idle_;
      const bool work = wake_.wait_for(lock, params::kIdle, [this] { return !tasks_.empty(); });
      --idle_;
      if (work) {
        run_one(lock);
      } else if (threads_ > 1) {
        --threads_;
        return;
      }
    }
  }

  void run_one(OwnMutex::Lock& lock) {
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    ++at_work_;
    lock.unlock();
    try {
      task();
    } catch (const std::exception& error) {
      log_error("a callback of a call's future threw: {}", error.what());
    }
    task = nullptr;
    lock.lock();
    --at_work_;
    if (tasks_.empty() && at_work_ == 0) rest_.notify_all();
  }

  OwnMutex mutex_;
  std::condition_variable wake_;
  std::condition_variable rest_;
  std::deque<Task> tasks_;
  size_t threads_ = 0;
  size_t idle_ = 0;
  size_t at_work_ = 0;
  bool ended_ = false;
};

SideThreads& threads_of_process() {
  static constinit PerProcess<SideThreads> threads;
  return threads.get();
}

}  // namespace

Result<void> prepare_side_threads() { return threads_of_process().prepare(); }

void run_aside(std::function<void()> task) { threads_of_process().run(std::move(task)); }

void help_side_threads() { threads_of_process().help(); }

void end_side_threads(Nanos most) {
  threads_of_process().end(std::chrono::nanoseconds(most.count));
}

}  // namespace heddle::pytorch
