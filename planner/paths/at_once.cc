// See at_once.h.
#include "planner/paths/at_once.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread.h"

namespace heddle::planner {
namespace {

class Workers {
 public:
  Workers(uint32_t count, const std::function<void(uint32_t)>& work) : count_(count), work_(work) {}

  void take_all() {
    for (uint32_t i = next_++; i < count_; i = next_++) {
      try {
        work_(i);
      } catch (...) {
        if (!failed_.exchange(true)) failure_ = std::current_exception();
      }
    }
  }
  void start(uint32_t threads) {
    threads_.reserve(threads);
    for (uint32_t i = 0; i < threads; ++i) {
      Result<Thread> thread = start_thread("heddle-plan", [this] { take_all(); });
      if (!thread) return;
      threads_.push_back(std::move(*thread));
    }
  }
  void join() {
    for (Thread& thread : threads_) thread.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const uint32_t count_;
  const std::function<void(uint32_t)>& work_;
  std::atomic<uint32_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::exception_ptr failure_;  // of the one that set failed_
  std::vector<Thread> threads_;
};

}  // namespace

void for_each_at_once(uint32_t count, uint32_t threads, const std::function<void(uint32_t)>& work) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  Workers workers(count, work);
  if (count > 1) workers.start(std::min(count, threads) - 1);
  workers.take_all();
  workers.join();
}

}  // namespace heddle::planner
