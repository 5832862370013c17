// See lease_turns.h.
#include "apps/cli/plan/lease_turns.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "apps/cli/terminal.h"

namespace heddle::cli {
namespace {

std::chrono::nanoseconds span_of(Nanos time) { return std::chrono::nanoseconds(time.count); }

void guarded(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    print_warning(fmt::format("the lease could not be looked after: {}", error.what()));
  }
}

}  // namespace

struct LeaseTurns::State {
  Work work;
  std::mutex mutex;
  std::condition_variable changed;
  bool stops = false;
  bool done = false;

  void run() {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, span_of(work.interval), [this] { return stops; })) {
      lock.unlock();
      guarded(work.turn);
      lock.lock();
    }
    lock.unlock();
    guarded(work.end);
    lock.lock();
    done = true;
    changed.notify_all();
  }
};

Result<LeaseTurns> LeaseTurns::start(Work work) {
  auto state = std::make_shared<State>();
  state->work = std::move(work);
  Result<Thread> thread = start_thread("heddle-lease", [state] { state->run(); });
  if (!thread) return fail(thread.error());
  return LeaseTurns(std::move(state), std::move(*thread));
}

bool LeaseTurns::stop(Nanos most) {
  std::unique_lock lock(state_->mutex);
  state_->stops = true;
  state_->changed.notify_all();
  const bool done = state_->changed.wait_for(lock, span_of(most), [this] { return state_->done; });
  lock.unlock();
  if (done) {
    thread_.join();
  } else {
    thread_.detach();
  }
  return done;
}

}  // namespace heddle::cli
