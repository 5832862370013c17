// Endpoint, driving: which thread runs turns, and how other threads wait. See endpoint_body.h.
#include <algorithm>
#include <thread>
#include <utility>

#include "engine/endpoint_engines.h"
#include "engine/params.h"

namespace heddle::engine {
namespace {

Nanos later(Nanos now, Nanos span) {
  return span >= Nanos::never() - now ? Nanos::never() : now + span;
}

}  // namespace

Result<void> Endpoint::Body::start() {
  if (options_.drive == Drive::kThread) return start_thread();
  if (options_.drive != Drive::kInline) return {};
  if (Result<void> added = HelperThread::of_process().add(*this); !added) return added;
  helped_ = true;
  return {};
}

Result<void> Endpoint::Body::start_thread() {
  leading_ = true;
  Result<Thread> thread = heddle::start_thread("heddle-drive", [this] {
    EndpointLock::Lock lock = state_lock_.lock();
    // One core stays free for the threads that wait for this one.
    lead(
        lock, [this] { return stopping_; }, {stamp(), Nanos::never()}, 1);
    leading_ = false;
  });
  if (!thread) return fail(thread.error());
  thread_ = std::move(*thread);
  return {};
}

void Endpoint::Body::shut_down() {
  if (helped_) HelperThread::of_process().remove(*this);
  if (thread_.joinable()) {
    {
      const EndpointLock::Lock lock = state_lock_.lock();
      stopping_ = true;
      datapath_->wake();
    }
    thread_.join();
  }
  const EndpointLock::Lock lock = state_lock_.lock_all();
  for (const Connection connection : connections_.living()) {
    transport_.post_abort(stamp(), connection);
  }
  turn();
  sink_->report_stamp_error(driver_.last_turn_at());
  driver_.end_count();
}

Nanos Endpoint::Body::stamp() { return std::max(driver_.last_turn_at(), datapath_->now()); }

Nanos Endpoint::Body::turn() {
  wanted_ = driver_.turn();
  take_results();
  return wanted_;
}

void Endpoint::Body::take_results() {
  const uint64_t changes_before = changes_.noted;
  transport::Completion completion;
  while (transport_.poll_completion(completion)) {
    changes_.note();
    const OperationPlace place = operations_.finish(
        completion.operation,
        {.done = true, .ok = completion.ok, .error = completion.error, .bytes = completion.bytes});
    if (place.temporary != transport::kNoRegion) unregister_region(place.temporary);
  }
  while (transport_.poll_notice(notice_)) {
    changes_.note();
    connections_.handle(notice_);
    if (engines_ != nullptr && notice_.kind == transport::NoticeKind::kAccepted) {
      engines_->note_accepted(options_.transport.engine.index);
    }
    plan_follower_.on_notice(driver_.last_turn_at(), notice_, transport_);
  }
  if (plan_follower_.due(driver_.last_turn_at())) {
    plan_follower_.turn(driver_.last_turn_at(), transport_);
  }
  if (changes_.noted != changes_before) on_changes();
}

void Endpoint::Body::on_changes() {
  followers_.notify();
  if (engines_ != nullptr) engines_->note_change();
}

bool Endpoint::Body::drive_until(const std::function<bool()>& done, Nanos timeout) {
  EndpointLock::Lock lock = state_lock_.lock();
  if (done() || options_.drive == Drive::kExternal) return done();
  const Nanos began = stamp();
  const Nanos deadline = later(began, timeout);
  while (!done()) {
    if (!leading_) {
      leading_ = true;
      takeover_.hold();
      lead(lock, done, {began, deadline}, 0);
      takeover_.let_go(std::max(began, driver_.last_turn_at()));
      leading_ = false;
      // A parked helper sleeps while a caller waits here; from now on it must measure the caller's
      // absence.
      if (helper_parked_) HelperThread::of_process().nudge(*this);
      helper_parked_ = false;
      followers_.notify();
      return done();
    }
    const Nanos left = deadline == Nanos::never() ? seconds(3600) : deadline - stamp();
    if (left.count <= 0) return false;
    followers_.wait(state_lock_, lock, left);
  }
  return true;
}

void Endpoint::Body::lead(EndpointLock::Lock& lock, const std::function<bool()>& done,
                          const Span& span, int cores_kept) {
  const SpinPermit permit = idle_spin_.permit(cores_kept);
  Nanos worked_at = span.began;
  Nanos now = span.began;
  bool idle = false;  // since worked_at
  bool last_look = false;
  while (!done()) {
    const bool came = poll_source_ready();
    const bool turns = (last_look && !came) || turn_is_due(now);
    if (turns) turn();
    now = turns ? driver_.last_turn_at() : stamp();
    const bool works = came || wanted_ <= now;
    const bool over = done() || now >= span.deadline;
    if (idle && (over || works)) idle_spin_.on_idle_ended(now - worked_at);
    if (over) return;
    idle = !works;
    if (!idle) {
      worked_at = now;
      state_lock_.give_way(lock);
    } else if (idle_spin_.may_spin(permit, now - worked_at)) {
      state_lock_.give_way(lock);
      idle_spin_.step(now - worked_at, poll_source_ != nullptr);
    } else if (turns) {
      sleep(lock, std::min(wanted_, span.deadline));
      now = stamp();
    }
    // Polls the network once more before the thread sleeps.
    last_look = idle && !turns;
  }
}

// --- poll sources besides the network ---

void Endpoint::Body::set_poll_source(PollSource* poll_source) {
  const EndpointLock::Lock lock = state_lock_.lock_all();
  poll_source_ = poll_source;
}

bool Endpoint::Body::poll_source_ready() {
  if (poll_source_ == nullptr || !poll_source_->arrived()) return false;
  changes_.note();
  on_changes();
  return true;
}

// A poll of the network is a system call, a poll of shared memory is not. With a poll
// source, the network is polled only when a turn is due or params::kTurnInterval has passed since
// the last one.
bool Endpoint::Body::turn_is_due(Nanos now) const {
  return poll_source_ == nullptr || wanted_ <= now ||
         now - driver_.last_turn_at() >= params::kTurnInterval;
}

void Endpoint::Body::sleep(EndpointLock::Lock& lock, Nanos until) {
  driver_.rest(until);
  if (poll_source_ == nullptr || poll_source_->before_sleep()) state_lock_.sleep(lock, until);
  // set_poll_source() may have replaced it during the sleep.
  if (poll_source_ != nullptr) poll_source_->after_sleep();
}

// --- callers, the owner and the helper ---

void Endpoint::Body::turn_if_free() {
  if (options_.drive != Drive::kInline) return;
  const EndpointLock::Lock lock = state_lock_.try_lock();
  if (!lock.owns_lock() || leading_) return;
  turn();
  takeover_.on_caller(driver_.last_turn_at());
}

void Endpoint::Body::after_post(EndpointLock::Lock& lock, Nanos now, uint32_t posts) {
  static_cast<void>(lock);
  if (state_lock_.sleeping() || options_.drive == Drive::kExternal) {
    datapath_->wake();
  } else if (batches_.open > 0) {
    batches_.posts += posts;
  } else if (!leading_) {
    // The caller may compute next, so everything that may leave is sent now.
    while (driver_.push(now) && --posts > 0) now = driver_.last_turn_at();
    takeover_.on_caller(driver_.last_turn_at());
  }
}

void Endpoint::Body::begin_batch() {
  const EndpointLock::Lock lock = state_lock_.lock();
  ++batches_.open;
}

void Endpoint::Body::end_batch() {
  EndpointLock::Lock lock = state_lock_.lock();
  if (--batches_.open > 0 || batches_.posts == 0) return;
  after_post(lock, stamp(), std::exchange(batches_.posts, 0));
}

Outcome Endpoint::wait(Operation operation, Nanos timeout) {
  Body* const first = body_.here();
  if (first == nullptr) return kForkedOutcome;
  Body* const body = &first->of(operation);
  const Outcome outcome = body->operations_.take(operation);
  if (outcome.done) return outcome;
  body->spin_for(operation);
  body->drive_until([body, operation] { return body->operations_.is_done(operation); }, timeout);
  return body->operations_.take(operation);
}

bool Endpoint::progress(Nanos timeout) {
  Body* const body = body_.here();
  if (body == nullptr) return false;
  if (Engines* const engines = body->engines()) return engines->progress(timeout);
  bool happened = false;
  body->drive_until(
      [body, &happened] {
        happened = body->changes_.take() || happened;
        return happened;
      },
      timeout);
  return happened;
}

bool Endpoint::take_changes() {
  Body* const body = body_.here();
  if (body == nullptr) return false;
  if (Engines* const engines = body->engines()) return engines->take_changes();
  const EndpointLock::Lock lock = body->state_lock_.lock();
  return body->changes_.take();
}

Endpoint::Batch::Batch(Endpoint& endpoint) : endpoint_(endpoint) {
  Body* const body = endpoint_.body_.here();
  if (body != nullptr) for_each_engine(*body, [](Body& engine) { engine.begin_batch(); });
}

Endpoint::Batch::~Batch() {
  Body* const body = endpoint_.body_.here();
  if (body != nullptr) for_each_engine(*body, [](Body& engine) { engine.end_batch(); });
}

Nanos Endpoint::Body::turn_external() {
  const EndpointLock::Lock lock = state_lock_.lock_all();
  const Nanos wanted = turn();
  takeover_.on_caller(driver_.last_turn_at());
  return wanted;
}

HelperClient::Look Endpoint::Body::helper_look() {
  const EndpointLock::Lock lock = state_lock_.try_lock();
  if (!lock.owns_lock()) return {.after = options_.takeover_after};  // another thread drives
  const bool watches_input = descriptor() >= 0;
  Nanos now = stamp();
  Nanos wanted = now;
  const bool may_drive = takeover_.helper_may_drive(now);
  if (may_drive) datapath_->take_wake();
  for (int i = 0; may_drive && i < params::kHelperTurns && wanted <= now; ++i) {
    wanted = turn();
    now = stamp();
  }
  helper_parked_ = takeover_.held();
  const Nanos next = takeover_.next_look(now, wanted, watches_input);
  if (may_drive) driver_.rest(next);
  const Nanos after = next == Nanos::never() ? next : std::max(Nanos{}, next - now);
  return {.after = after, .on_input = may_drive && watches_input};
}

Nanos Endpoint::Body::look_external() {
  const Look look = helper_look();
  return later(stamp(), look.after);
}

void Endpoint::Body::interrupt() {
  const EndpointLock::Lock lock = state_lock_.lock();
  changes_.note();
  if (state_lock_.sleeping()) datapath_->wake();
  on_changes();
}

void Endpoint::Body::spin_for(Operation operation) {
  if (options_.drive != Drive::kThread) return;
  const SpinPermit permit = idle_spin_.permit(0);
  if (!permit.granted()) return;
  const Nanos began = datapath_->now();
  for (Nanos now = began; now - began < options_.spin_limit; now = datapath_->now()) {
    if (operations_.is_done(operation)) return;
    if (now - began < params::kYieldAfter) {
      spin_pause();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace heddle::engine
