// DrivenCommunicator: see driven_communicator.h.
#include "collectives/progress/driven_communicator.h"

#include <algorithm>
#include <utility>

#include "base/nanos.h"

namespace heddle::collectives {
namespace {

std::string in_seconds(Nanos span) {
  const int64_t tenths = span.count / 100'000'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

const Error kLeft = {ErrorCode::kClosed, "the call did not end", "the communicator has left", ""};

const Error kForked = {ErrorCode::kClosed, "cannot use a communicator",
                       "it belongs to the parent of this process",
                       "make a new endpoint and communicator after fork()"};

}  // namespace

Result<void> DrivenCommunicator::open(const std::shared_ptr<Links>& links, const Members& members,
                                      const CommunicatorOptions& options) {
  Result<std::unique_ptr<Communicator>> made = Communicator::create(links, members, options);
  if (!made) return fail(made.error());
  endpoint_ = &links->endpoint();
  communicator_ = std::move(*made);
  return {};
}

void DrivenCommunicator::adopt(engine::Endpoint& endpoint,
                               std::unique_ptr<Communicator> communicator) {
  endpoint_ = &endpoint;
  communicator_ = std::move(communicator);
}

void DrivenCommunicator::post(std::vector<PostedCall> calls) {
  if (!communicator_ || leaving_) {
    for (const PostedCall& posted : calls) posted.state->end(fail(kLeft));
    return;
  }
  const bool group = calls.size() > 1;
  if (group) communicator_->group_start();
  for (PostedCall& posted : calls) {
    const Result<Request> request = communicator_->post(std::move(posted.call));
    if (!request) {
      posted.state->end(fail(request.error()));
      continue;
    }
    posted.state->posted([communicator = communicator_.get(), made = *request](bool begins) {
      communicator->report_waiting(made, begins);
    });
    const Nanos now = endpoint_->now();
    const Nanos deadline =
        posted.timeout >= Nanos::never() - now ? Nanos::never() : now + posted.timeout;
    next_deadline_ = std::min(next_deadline_, deadline);
    running_.push_back({*request, std::move(posted.state), posted.timeout, deadline});
  }
  if (!group) return;
  if (const Result<Request> together = communicator_->group_end()) {
    communicator_->forget(*together);
  }
}

Communicator::Attention DrivenCommunicator::attend() {
  if (!communicator_) return {};
  Communicator::Attention attention = communicator_->attend();
  end_done();
  end_shrink();
  if (!running_.empty()) attention.again_at = std::min(attention.again_at, heed_deadlines());
  if (communicator_->failure() && !failure()) {
    const OwnMutex::Lock lock = failure_mutex_.lock();
    failure_ = communicator_->failure();
  }
  return attention;
}

void DrivenCommunicator::end_done() {
  size_t kept = 0;
  for (size_t i = 0; i < running_.size(); ++i) {
    const Result<bool> ended = communicator_->peek(running_[i].request);
    if (ended && !*ended) {
      if (kept != i) running_[kept] = std::move(running_[i]);
      ++kept;
      continue;
    }
    const std::shared_ptr<CallState> state = std::move(running_[i].state);
    state->end(ended ? Result<void>() : fail(ended.error()));
  }
  running_.resize(kept);
}

void DrivenCommunicator::begin_shrink(const ShrinkOptions& options,
                                      std::shared_ptr<CallState> state) {
  if (!communicator_ || leaving_ || shrinking_) {
    state->end(shrinking_ ? fail(ErrorCode::kInvalid, "cannot shrink", "another thread does so")
                          : fail(kLeft));
    return;
  }
  communicator_->begin_shrink(options);
  shrinking_ = std::move(state);
}

void DrivenCommunicator::end_shrink() {
  if (!shrinking_) return;
  shrunk_ = communicator_->take_shrunk();
  if (shrunk_) std::exchange(shrinking_, nullptr)->end({});
}

Result<Communicator::Shrunk> DrivenCommunicator::take_shrunk() {
  if (!shrunk_) return fail(kLeft);
  Result<Communicator::Shrunk> shrunk = std::move(*shrunk_);
  shrunk_.reset();
  return shrunk;
}

// The time of the next one, never() when it has passed: then the communicator fails already.
Nanos DrivenCommunicator::heed_deadlines() {
  const Nanos now = endpoint_->now();
  if (now < next_deadline_) return next_deadline_;
  next_deadline_ = Nanos::never();
  for (const Running& running : running_) {
    if (now < running.deadline) {
      next_deadline_ = std::min(next_deadline_, running.deadline);
      continue;
    }
    communicator_->abort(ErrorCode::kTimeout,
                         "rank " + std::to_string(communicator_->rank()) + " timed out after " +
                             in_seconds(running.timeout) + ": " + communicator_->waits_for());
    return now;
  }
  return next_deadline_;
}

void DrivenCommunicator::begin_leaving() {
  leaving_ = true;
  if (communicator_) communicator_->begin_leaving();
}

bool DrivenCommunicator::left() { return leaving_ && (!communicator_ || communicator_->left()); }

void DrivenCommunicator::close() {
  for (const Running& running : running_) running.state->posted(nullptr);
  communicator_.reset();
  if (shrinking_) std::exchange(shrinking_, nullptr)->end(fail(kLeft));
  shrunk_.reset();
  end_all(kLeft);
}

void DrivenCommunicator::end_all(const Error& error) {
  for (const Running& running : std::exchange(running_, {})) running.state->end(fail(error));
}

std::optional<Error> DrivenCommunicator::failure() const {
  const OwnMutex::Lock lock = failure_mutex_.enter();
  return lock ? failure_ : kForked;
}

}  // namespace heddle::collectives
