// SharedCommunicator and ProgressThread: see shared_communicator.h and progress_thread.h. The
// thread's code is in progress/.
#include "collectives/shared_communicator.h"

#include <utility>

#include "collectives/communicator/call_check.h"
#include "collectives/communicator/split.h"
#include "collectives/progress/call_state.h"
#include "collectives/progress/driven_communicator.h"
#include "collectives/progress/progress_body.h"

namespace heddle::collectives {
namespace {

Unexpected forked(const char* what) {
  return fail(ErrorCode::kClosed, what, "its thread is not in this process, or has stopped",
              "make a new endpoint and communicator after fork()");
}

}  // namespace

// --- the thread ---

Result<std::unique_ptr<ProgressThread>> ProgressThread::create(engine::Endpoint& endpoint) {
  auto body = std::make_shared<ProgressBody>(endpoint);
  if (Result<void> started = body->start(); !started) return fail(started.error());
  return std::unique_ptr<ProgressThread>(new ProgressThread(std::move(body)));
}

ProgressThread::ProgressThread(std::shared_ptr<ProgressBody> body) : body_(std::move(body)) {}

ProgressThread::~ProgressThread() {
  if (body_->in_child()) {
    // Neither thread nor connections are this process's: what they hold is left as it is.
    new std::shared_ptr<ProgressBody>(std::move(body_));  // NOLINT: not freed on purpose
    return;
  }
  body_->stop();
}

engine::Endpoint& ProgressThread::endpoint() const { return body_->endpoint_; }
void ProgressThread::refuse(uint64_t communicator) {
  body_->run([body = body_.get(), communicator] { body->links()->refuse(communicator); });
}

uint64_t ProgressThread::turns() const { return body_->turns_.load(std::memory_order_relaxed); }
size_t ProgressThread::communicators() const {
  return body_->communicators_.load(std::memory_order_relaxed);
}

// --- the communicator ---

SharedCommunicator::SharedCommunicator(std::shared_ptr<ProgressThread> thread,
                                       const Members& members, const CommunicatorOptions& options)
    : thread_(std::move(thread)),
      members_(members),
      options_(options),
      driven_(std::make_shared<DrivenCommunicator>()) {}

Result<std::unique_ptr<SharedCommunicator>> SharedCommunicator::create(
    std::shared_ptr<ProgressThread> thread, const Members& members,
    const CommunicatorOptions& options) {
  std::unique_ptr<SharedCommunicator> made(
      new SharedCommunicator(std::move(thread), members, options));
  ProgressBody& body = *made->thread_->body_;
  Result<void> opened;
  const bool ran = body.run_and_wait([&] {
    opened = made->driven_->open(body.links(), members, options);
    if (opened) body.add(made->driven_);
  });
  if (!ran) return forked("cannot make a communicator");
  if (!opened) return fail(opened.error());
  return made;
}

SharedCommunicator::~SharedCommunicator() {
  thread_->body_->run([driven = driven_] { driven->begin_leaving(); });
}

Result<void> SharedCommunicator::check(const std::vector<Call>& calls) const {
  if (thread_->body_->in_child()) return forked("cannot call");
  if (const std::optional<Error> failed = driven_->failure()) return fail(*failed);
  for (const Call& call : calls) {
    if (Result<void> good = check_call(call, members_); !good) return good;
  }
  return {};
}

Result<PendingCall> SharedCommunicator::post(Call call, CallOptions options) {
  std::vector<Call> calls;
  calls.push_back(std::move(call));
  std::vector<CallOptions> each;
  each.push_back(std::move(options));
  Result<std::vector<PendingCall>> posted = post_group(std::move(calls), std::move(each));
  if (!posted) return fail(posted.error());
  return std::move(posted->front());
}

Result<std::vector<PendingCall>> SharedCommunicator::post_group(std::vector<Call> calls,
                                                                std::vector<CallOptions> options) {
  if (Result<void> good = check(calls); !good) return fail(good.error());
  options.resize(calls.size());
  const std::weak_ptr<ProgressBody> thread = thread_->body_;
  const auto waits_for = [thread, driven = std::weak_ptr<DrivenCommunicator>(driven_)] {
    std::string text = "its communicator has left";
    const auto body = thread.lock();
    const auto alive = driven.lock();
    if (body && alive) body->run_and_wait([&] { text = alive->waits_for(); });
    return text;
  };
  std::vector<PostedCall> posted;
  std::vector<PendingCall> pending;
  for (size_t i = 0; i < calls.size(); ++i) {
    auto state = std::make_shared<CallState>(std::move(options[i].on_end), waits_for);
    pending.emplace_back(state);
    posted.push_back({std::move(calls[i]), options[i].timeout, std::move(state)});
  }
  // std::function wants to copy what it holds.
  const auto task = std::make_shared<std::vector<PostedCall>>(std::move(posted));
  const bool ran =
      thread_->body_->run([driven = driven_, task] { driven->post(std::move(*task)); });
  if (!ran) return forked("cannot call");
  return pending;
}

void SharedCommunicator::watch_caller(const PendingCall& call, const AwaitedObject& object) {
  if (!call || !thread_->body_->wants_waits()) return;
  thread_->body_->wait_watcher_.watch(call.state_, object);
}

void SharedCommunicator::abort(ErrorCode code, const std::string& why) {
  thread_->body_->run([driven = driven_, code, why] { driven->abort(code, why); });
}

void SharedCommunicator::abort() {
  abort(ErrorCode::kCancelled, "rank " + std::to_string(rank()) + " aborted the communicator");
}

void SharedCommunicator::revoke() {
  abort(ErrorCode::kCancelled, "rank " + std::to_string(rank()) + " revoked the communicator");
}

Result<SharedCommunicator::Shrunk> SharedCommunicator::shrink(const ShrinkOptions& options) {
  ProgressBody& body = *thread_->body_;
  const auto state = std::make_shared<CallState>(std::function<void(const Result<void>&)>(),
                                                 [] { return "the other ranks"; });
  const bool asked =
      body.run([driven = driven_, options, state] { driven->begin_shrink(options, state); });
  if (!asked) return forked("cannot shrink");
  if (Result<void> ended = state->wait(Nanos::never()); !ended) return fail(ended.error());
  Result<Communicator::Shrunk> taken = fail(ErrorCode::kClosed, "cannot shrink", "it has left");
  Shrunk shrunk;
  const bool ran = body.run_and_wait([&] {
    taken = driven_->take_shrunk();
    if (!taken) return;
    shrunk.communicator.reset(new SharedCommunicator(thread_, taken->members, options_));
    shrunk.communicator->driven_->adopt(body.endpoint_, std::move(taken->communicator));
    body.add(shrunk.communicator->driven_);
  });
  if (!ran) return forked("cannot shrink");
  if (!taken) return fail(taken.error());
  shrunk.former_ranks = std::move(taken->former_ranks);
  return shrunk;
}

std::optional<Error> SharedCommunicator::failure() const { return driven_->failure(); }

Result<std::unique_ptr<SharedCommunicator>> SharedCommunicator::split(int32_t colour, int32_t key,
                                                                      Nanos timeout) {
  const SplitChoice mine = {colour, key};
  std::vector<SplitChoice> all(size());
  // wait() has no timeout: `all` is written until the call has ended.
  const Result<PendingCall> gathered = post(gather_choices(mine, all), {.timeout = timeout});
  if (!gathered) return fail(gathered.error());
  if (Result<void> ended = gathered->wait(); !ended) return fail(ended.error());
  const std::optional<Members> part = part_of(members_, splits_++, all);
  if (!part) return std::unique_ptr<SharedCommunicator>();
  return create(thread_, *part, options_);
}

}  // namespace heddle::collectives
