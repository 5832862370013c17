// CallState: see call_state.h; PendingCall is its face.
#include "collectives/progress/call_state.h"

#include <chrono>
#include <exception>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "collectives/pending_call.h"

namespace heddle::collectives {
namespace {

Unexpected forked() {
  return fail(ErrorCode::kClosed, "cannot wait for a call",
              "it was made by the parent of this process", "call again on a new communicator");
}

}  // namespace

void CallState::posted(std::function<void(bool)> report) {
  const OwnMutex::Lock lock = mutex_.lock();
  if (reported_) report_(false);
  reported_ = false;
  report_ = std::move(report);
  report_waiting();
}

void CallState::report_waiting() {
  const bool waits = waiting_ > 0 && !done_;
  if (!report_ || waits == reported_) return;
  reported_ = waits;
  report_(waits);
}

void CallState::begin_wait() {
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock) return;
  ++waiting_;
  report_waiting();
}

void CallState::end_wait() {
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock) return;
  --waiting_;
  report_waiting();
}

void CallState::end(const Result<void>& result) {
  try {
    if (on_end_) on_end_(result);
  } catch (const std::exception& error) {
    // The caller's fault must not end the thread on which all other calls depend.
    log_error("a call's on_end threw, and the call ends as if it had not: {}", error.what());
  }
  on_end_ = nullptr;
  const OwnMutex::Lock lock = mutex_.lock();
  CHECK(!done_);
  if (!result) error_ = result.error();
  done_ = true;
  report_waiting();
  report_ = nullptr;  // its captures may be destroyed now
  // Under the lock: a woken thread may hold the last reference to this object.
  ended_.notify_all();
}

bool CallState::done() const {
  const OwnMutex::Lock lock = mutex_.enter();
  return !lock || done_;
}

Result<void> CallState::result() const {
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock) return forked();
  CHECK(done_);
  if (error_) return fail(*error_);
  return {};
}

Result<void> CallState::wait(Nanos timeout) {
  if (mutex_.in_child()) return forked();
  constexpr Nanos kLongest = seconds(1'000'000'000);
  {
    OwnMutex::Lock lock = mutex_.lock();
    const auto done = [this] { return done_; };
    // A call with timeout zero only tests.
    const bool waits = !done_ && timeout > Nanos{};
    if (waits) {
      ++waiting_;
      report_waiting();
    }
    if (timeout >= kLongest) {
      ended_.wait(lock, done);
    } else {
      ended_.wait_for(lock, std::chrono::nanoseconds(timeout.count), done);
    }
    if (waits) {
      --waiting_;
      report_waiting();
    }
    if (done_ && error_) return fail(*error_);
    if (done_) return {};
  }
  return fail(ErrorCode::kTimeout, "a call is not done in time", waits_for_(),
              "wait again, or look at that rank");
}

bool CallState::ends_within(Nanos span) {
  OwnMutex::Lock lock = mutex_.lock();
  return ended_.wait_for(lock, std::chrono::nanoseconds(span.count), [this] { return done_; });
}

bool PendingCall::done() const { return state_->done(); }
Result<void> PendingCall::result() const { return state_->result(); }
Result<void> PendingCall::wait(Nanos timeout) const { return state_->wait(timeout); }

PendingCall::Waiting::Waiting(const PendingCall& call) : state_(call.state_) {
  state_->begin_wait();
}
PendingCall::Waiting::~Waiting() { state_->end_wait(); }

}  // namespace heddle::collectives
