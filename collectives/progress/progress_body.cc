// ProgressBody: see progress_body.h.
#include "collectives/progress/progress_body.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "collectives/progress_thread.h"

namespace heddle::collectives {
namespace {

thread_local bool on_progress_thread = false;  // NOLINT: of a thread

}  // namespace

bool ProgressThread::is_current() { return on_progress_thread; }

ProgressBody::ProgressBody(engine::Endpoint& endpoint)
    : endpoint_(endpoint),
      wants_waits_(endpoint.observed().has(events::EventKind::kWaitBegun)),
      links_(std::make_shared<Links>(endpoint)) {}

Result<void> ProgressBody::start() {
  Result<Thread> thread = start_thread("heddle-progress", [this] { loop(); });
  if (!thread) return fail(thread.error());
  thread_ = std::move(*thread);
  return {};
}

void ProgressBody::stop() {
  {
    const OwnMutex::Lock lock = mutex_.lock();
    stopping_ = true;
  }
  endpoint_.interrupt();
  thread_.join();
  wait_watcher_.stop();
  // The endpoint may be destroyed when this returns, while other threads still hold the body.
  links_.reset();
}

bool ProgressBody::run(std::function<void()> task) {
  bool first = false;
  {
    const OwnMutex::Lock lock = mutex_.enter();
    if (!lock || stopped_) return false;
    first = tasks_.empty();
    tasks_.push_back(std::move(task));
  }
  // An earlier post has already woken it.
  if (first) endpoint_.interrupt();
  return true;
}

bool ProgressBody::run_and_wait(const std::function<void()>& task) {
  OwnMutex mutex;
  std::condition_variable ran;
  bool done = false;
  const bool accepted = run([&] {
    task();
    const OwnMutex::Lock lock = mutex.lock();
    done = true;
    ran.notify_all();
  });
  if (!accepted) return false;
  OwnMutex::Lock lock = mutex.lock();
  ran.wait(lock, [&done] { return done; });
  return true;
}

void ProgressBody::loop() {
  on_progress_thread = true;
  bool leaving = false;
  while (true) {
    const bool worked = run_tasks();
    {
      const OwnMutex::Lock lock = mutex_.lock();
      if (stopping_ && !std::exchange(leaving, true)) {
        for (const auto& driven : driven_) driven->begin_leaving();
      }
      if (leaving && driven_.empty() && tasks_.empty()) {
        stopped_ = true;
        return;
      }
    }
    const Nanos rest = attend();
    endpoint_.progress(worked ? Nanos{} : rest);
  }
}

bool ProgressBody::run_tasks() {
  {
    const OwnMutex::Lock lock = mutex_.lock();
    std::swap(taken_, tasks_);
  }
  for (const auto& task : taken_) task();
  const bool some = !taken_.empty();
  taken_.clear();
  return some;
}

Nanos ProgressBody::attend() {
  turns_.fetch_add(1, std::memory_order_relaxed);
  bool moved = false;
  Nanos until = Nanos::never();
  for (const auto& driven : driven_) {
    const Communicator::Attention attention = driven->attend();
    moved |= attention.moved;
    until = std::min(until, attention.again_at);
  }
  // Who connects is listened to, even where no communicator is left to do it.
  if (!moved) moved = links_->poll();
  const size_t before = driven_.size();
  let_go();
  communicators_.store(driven_.size(), std::memory_order_relaxed);
  if (moved || driven_.size() != before) return {};
  return until == Nanos::never() ? until : std::max(Nanos{}, until - endpoint_.now());
}

void ProgressBody::let_go() {
  std::erase_if(driven_, [](const std::shared_ptr<DrivenCommunicator>& driven) {
    if (!driven->left()) return false;
    driven->close();
    return true;
  });
}

}  // namespace heddle::collectives
