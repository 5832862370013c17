// WaitWatcher: see wait_watcher.h.
#include "collectives/progress/wait_watcher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clocks.h"
#include "base/result.h"
#include "collectives/progress/wait_detector.h"

namespace heddle::collectives {

void WaitWatcher::watch(std::shared_ptr<CallState> call, const AwaitedObject& object) {
  const ThreadId caller = calling_thread();
  {
    const OwnMutex::Lock lock = mutex_.enter();
    if (!lock || stopping_) return;
    if (!thread_.joinable()) {
      Result<Thread> started = start_thread("heddle-waits", [this] { loop(); });
      if (!started) return;
      thread_ = std::move(*started);
    }
    added_.push_back({caller, object, std::move(call)});
    if (!heeds_added_) return;
  }
  changed_.notify_one();
}

void WaitWatcher::stop() {
  Thread thread;
  {
    const OwnMutex::Lock lock = mutex_.lock();
    stopping_ = true;
    std::swap(thread, thread_);
  }
  changed_.notify_one();
  if (thread.joinable()) thread.join();
}

void WaitWatcher::loop() {
  KernelSleepSource source;
  WaitDetector detector(source);
  while (rest(detector)) {
    for (Added& each : taken_) detector.add(each.thread, each.object, std::move(each.call));
    taken_.clear();
    detector.sample();
  }
}

bool WaitWatcher::rest(const WaitDetector& detector) {
  const std::shared_ptr<CallState> awaited = detector.awaited();
  // A thread that waits can add no call; those of others come after the interval.
  const bool ended = awaited && awaited->ends_within(interval_);
  OwnMutex::Lock lock = mutex_.lock();
  heeds_added_ = detector.idle() || steady_now() - hurried_ >= params::kSoonEvery;
  const auto called = [this] { return stopping_ || (heeds_added_ && !added_.empty()); };
  if (detector.idle()) {
    changed_.wait(lock, called);
  } else if (!awaited) {
    changed_.wait_for(lock, std::chrono::nanoseconds(interval_.count), called);
  }
  heeds_added_ = false;
  std::swap(taken_, added_);
  set_interval(ended || !taken_.empty(),
               detector.all_wait() ? params::kAwaitedSample : params::kSample);
  return !stopping_;
}

void WaitWatcher::set_interval(bool hurry, Nanos most) {
  const Nanos now = steady_now();
  if (hurry && now - hurried_ >= params::kSoonEvery) {
    hurried_ = now;
    interval_ = params::kSoonSample;
  } else {
    interval_ = std::min(interval_ + interval_, most);
  }
}

}  // namespace heddle::collectives
