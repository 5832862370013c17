// CallState: see call_state.h; PendingCall is its face.
#include "collectives/progress/call_state.h"

#include <chrono>

#include "base/check.h"
#include "collectives/pending_call.h"

namespace heddle::collectives {

void CallState::end(const Result<void>& result) {
  if (on_end_) on_end_(result);
  on_end_ = nullptr;
  const std::lock_guard lock(mutex_);
  CHECK(!done_);
  if (!result) error_ = result.error();
  done_ = true;
  // Under the lock: whoever wakes may be the last to hold this.
  ended_.notify_all();
}

bool CallState::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

Result<void> CallState::result() const {
  const std::lock_guard lock(mutex_);
  CHECK(done_);
  if (error_) return fail(*error_);
  return {};
}

Result<void> CallState::wait(Nanos timeout) {
  if (fork_guard_.in_child()) {
    return fail(ErrorCode::kClosed, "cannot wait for a call",
                "it was made by the parent of this process", "call again on a new communicator");
  }
  constexpr Nanos kLongest = seconds(1'000'000'000);
  {
    std::unique_lock lock(mutex_);
    const auto done = [this] { return done_; };
    if (timeout >= kLongest) {
      ended_.wait(lock, done);
    } else {
      ended_.wait_for(lock, std::chrono::nanoseconds(timeout.count), done);
    }
    if (done_ && error_) return fail(*error_);
    if (done_) return {};
  }
  return fail(ErrorCode::kTimeout, "a call is not done in time", waits_for_(),
              "wait again, or look at that rank");
}

bool PendingCall::done() const { return state_->done(); }
Result<void> PendingCall::result() const { return state_->result(); }
Result<void> PendingCall::wait(Nanos timeout) const { return state_->wait(timeout); }

}  // namespace heddle::collectives
