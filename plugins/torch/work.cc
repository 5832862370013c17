// HeddleWork: see work.h.
#include "plugins/torch/work.h"

#include <ATen/core/ivalue_inl.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include "collectives/progress_thread.h"
#include "plugins/torch/awaited_future.h"
#include "plugins/torch/errors.h"
#include "plugins/torch/params.h"
#include "plugins/torch/side_threads.h"

namespace heddle::pytorch {
namespace {

Nanos nanos_of(std::chrono::milliseconds span) {
  return span.count() <= 0 ? Nanos::never() : millis(span.count());
}

std::exception_ptr exception_of(const std::string& text) {
  return text.empty() ? nullptr : std::make_exception_ptr(std::runtime_error(text));
}

using Moment = std::chrono::steady_clock::time_point;

std::chrono::milliseconds since(Moment began) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               began);
}

bool is_over(std::chrono::milliseconds timeout, Moment began) {
  return timeout > kNoTimeout && since(began) >= timeout;
}

std::chrono::milliseconds span_of_wait(std::chrono::milliseconds timeout, Moment began) {
  if (timeout <= kNoTimeout) return params::kHelpsEvery;
  return std::clamp(timeout - since(began), kNoTimeout, params::kHelpsEvery);
}

void mark(const c10::intrusive_ptr<c10::ivalue::Future>& future, const std::exception_ptr& error,
          const Tensors& results) {
  if (error) {
    future->setError(error);
  } else {
    future->markCompleted(c10::IValue(results));
  }
}

}  // namespace

HeddleWork::HeddleWork(int rank, Plan plan,
                       std::weak_ptr<collectives::SharedCommunicator> communicator)
    : Work(rank, plan.type, plan.title, plan.inputs),
      plan_(std::move(plan)),
      communicator_(std::move(communicator)) {
  // The profiler's record holds them until the call ends, on the progress thread, where no tensor
  // may go: then they stay.
  if (!recordFunctionEndCallback_) plan_.inputs.clear();
}

HeddleWork::~HeddleWork() {
  if (!collectives::ProgressThread::is_current()) return;
  // Destroying a tensor may need Python's lock, for which this thread must not wait. Other
  // references may be dropped at any time, so this one may be the last.
  run_aside([plan = std::move(plan_), future = std::move(future_)] {});
}

c10::intrusive_ptr<HeddleWork> HeddleWork::start(
    const std::shared_ptr<collectives::SharedCommunicator>& communicator, int rank, Plan plan,
    std::chrono::milliseconds timeout) {
  auto work = c10::make_intrusive<HeddleWork>(rank, std::move(plan), communicator);
  if (work->plan_.calls.empty()) {
    work->complete(nullptr);
    return work;
  }
  auto posted = post(work, communicator, timeout);
  TORCH_CHECK(posted, "heddle: ", work->plan_.about, text_of(posted.error()));
  work->pending_ = std::move(*posted);
  return work;
}

Result<std::vector<collectives::PendingCall>> HeddleWork::post(
    const c10::intrusive_ptr<HeddleWork>& self,
    const std::shared_ptr<collectives::SharedCommunicator>& communicator,
    std::chrono::milliseconds timeout) {
  std::vector<collectives::Call> calls = std::move(self->plan_.calls);
  self->to_end_ = calls.size();
  // Moved out of by the last call, so that the progress thread is left with nothing to let go of.
  const auto holder = std::make_shared<c10::intrusive_ptr<HeddleWork>>(self);
  std::vector<collectives::CallOptions> options(calls.size());
  for (collectives::CallOptions& each : options) {
    each.timeout = nanos_of(timeout);
    each.on_end = [holder](const Result<void>& result) {
      if ((*holder)->end_call(result)) end(std::move(*holder));
    };
  }
  return communicator->post_group(std::move(calls), std::move(options));
}

c10::intrusive_ptr<HeddleWork> HeddleWork::prepare_receive(int rank, Plan plan,
                                                           std::chrono::milliseconds limit) {
  auto work = c10::make_intrusive<HeddleWork>(rank, std::move(plan),
                                              std::weak_ptr<collectives::SharedCommunicator>());
  work->limit_ = limit;
  work->began_ = std::chrono::steady_clock::now();
  return work;
}

void HeddleWork::receive_from(const c10::intrusive_ptr<HeddleWork>& self,
                              const std::shared_ptr<collectives::SharedCommunicator>& communicator,
                              uint32_t source, uint32_t peer) {
  self->plan_.source = static_cast<int>(source);
  self->plan_.calls[0].root = peer;
  // The calls stay out of pending_, which belongs to another thread.
  const auto posted = post(self, communicator, self->limit_);
  if (!posted) self->refuse(posted.error());
}

void HeddleWork::refuse(const Error& error) {
  complete(exception_of("heddle: " + plan_.about + text_of(error)));
}

// --- its end ---

bool HeddleWork::end_call(const Result<void>& result) {
  const OwnMutex::Lock lock = end_mutex_.lock();
  if (!result && error_.empty()) error_ = "heddle: " + plan_.about + text_of(result.error());
  return --to_end_ == 0;
}

void HeddleWork::end(c10::intrusive_ptr<HeddleWork> self) {
  const bool copies = std::any_of(self->plan_.buffers.begin(), self->plan_.buffers.end(),
                                  [](const Buffer& each) { return each.must_copy_back(); });
  if ((copies || self->plan_.after) && self->error_.empty()) {
    run_aside([self = std::move(self)] { self->copy_results(); });
    return;
  }
  self->complete(exception_of(self->error_));
}

void HeddleWork::copy_results() {
  std::exception_ptr error;
  try {
    for (Buffer& buffer : plan_.buffers) {
      if (buffer.must_copy_back()) buffer.copy_back();
    }
    if (plan_.after) plan_.after();
  } catch (...) {
    error = std::current_exception();
  }
  complete(error);
}

void HeddleWork::complete(std::exception_ptr error) {
  finish(error);
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    const OwnMutex::Lock lock = end_mutex_.lock();
    ended_ = true;
    future = future_;
  }
  if (!future) return;
  // Its callbacks may do anything, also wait for another call.
  run_aside([future = std::move(future), error, results = plan_.results] {
    mark(future, error, results);
  });
}

// --- asking for it ---

int HeddleWork::sourceRank() const {
  TORCH_CHECK(plan_.source >= 0, "heddle: only a receive has a source rank");
  return plan_.source;
}

std::string HeddleWork::waits_for() {
  // The last is that of the message, behind its announcement.
  for (auto each = pending_.rbegin(); each != pending_.rend(); ++each) {
    if (each->done()) continue;
    const Result<void> ended = each->wait(Nanos{});
    if (!ended) return text_of(ended.error());
  }
  return limit_ > kNoTimeout ? "Timed out (no rank has sent a message)"
                             : "Timed out (its results are being copied)";
}

void HeddleWork::give_up_when_over() {
  if (give_up_ && is_over(limit_, began_)) std::exchange(give_up_, nullptr)();
}

bool HeddleWork::wait(std::chrono::milliseconds timeout) {
  // Before torch's own lock, which a thread of the parent may have held.
  TORCH_CHECK(!end_mutex_.in_child(), "heddle: the call was made by the parent of this process");
  {
    // One of several is enough: they are of one group.
    std::optional<collectives::PendingCall::Waiting> waiting;
    if (!pending_.empty()) waiting.emplace(pending_.back());
    std::unique_lock lock(mutex_);
    const auto done = [this] { return completed_; };
    const auto began = std::chrono::steady_clock::now();
    while (!cv_.wait_for(lock, span_of_wait(timeout, began), done)) {
      lock.unlock();
      TORCH_CHECK(!is_over(timeout, began), "heddle: ", plan_.about, waits_for());
      if (timeout <= kNoTimeout) give_up_when_over();
      help_side_threads();
      lock.lock();
    }
  }
  if (const std::exception_ptr error = exception()) std::rethrow_exception(error);
  return true;
}

void HeddleWork::abort() {
  if (const auto communicator = communicator_.lock()) communicator->abort();
}

c10::intrusive_ptr<c10::ivalue::Future> HeddleWork::getFuture() {
  bool ended = false;
  bool made = false;
  {
    const OwnMutex::Lock lock = end_mutex_.enter();
    TORCH_CHECK(lock, "heddle: the call was made by the parent of this process");
    made = !future_;
    if (made) {
      future_ =
          c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    }
    ended = ended_;
  }
  if (!ended) watch_caller();
  if (made && ended) mark(future_, exception(), plan_.results);
  return future_;
}

void HeddleWork::watch_caller() {
  if (pending_.empty()) return;
  const auto communicator = communicator_.lock();
  if (communicator) communicator->watch_caller(pending_.back(), awaited_future());
}

}  // namespace heddle::pytorch
