// SideThreads: see side_threads.h. Its state is never freed: threads may sleep in it while the
// process ends.
#include "plugins/torch/side_threads.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/thread.h"
#include "engine/fork_guard.h"

namespace heddle::pytorch {
namespace {

constexpr std::chrono::seconds kIdle(10);

class SideThreads {
 public:
  void run(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
      if (idle_ >= tasks_.size()) {
        wake_.notify_one();
        return;
      }
    }
    start();
  }
  bool in_child() const { return fork_guard_.in_child(); }
  bool wait_until_idle(std::chrono::nanoseconds most) {
    std::unique_lock lock(mutex_);
    return rest_.wait_for(lock, most, [this] { return tasks_.empty() && at_work_ == 0; });
  }

 private:
  void start() {
    start_thread("heddle-side", [this] { loop(); }).detach();
  }

  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      const bool work = wake_.wait_for(lock, kIdle, [this] { return !tasks_.empty(); });
      --idle_;
      if (!work) return;
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      ++at_work_;
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
      --at_work_;
      if (tasks_.empty() && at_work_ == 0) rest_.notify_all();
    }
  }

  const engine::ForkGuard fork_guard_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable rest_;
  std::deque<std::function<void()>> tasks_;
  size_t idle_ = 0;
  size_t at_work_ = 0;
};

SideThreads& threads_of_process() {
  static std::mutex mutex;
  static SideThreads* threads = nullptr;
  const std::lock_guard lock(mutex);
  if (threads == nullptr || threads->in_child()) threads = new SideThreads;
  return *threads;
}

}  // namespace

void run_aside(std::function<void()> task) { threads_of_process().run(std::move(task)); }

bool wait_for_side_threads(Nanos most) {
  return threads_of_process().wait_until_idle(std::chrono::nanoseconds(most.count));
}

}  // namespace heddle::pytorch
