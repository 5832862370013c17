// Communicator::Body, second part: calls that stall or fail. A rank that learns of a failure sends
// it to all ranks that it is connected to, withdraws what it has posted so that no memory is
// accessed any more, and only then ends its calls.
#include <algorithm>
#include <utility>

#include "collectives/communicator/body.h"
#include "collectives/params.h"

namespace heddle::collectives {

void Communicator::Body::fail_all(Failure failure) {
  if (state_ != State::kWorking) return;
  failure_ = std::move(failure);
  resources_->mesh.send_failure(*failure_);
  give_up_at_ = endpoint_.now() + params::kFailureNoticeTime;
  state_ = State::kNotifying;
}

bool Communicator::Body::advance_failing() {
  const bool moved = resources_->mesh.poll();
  switch (state_) {
    case State::kNotifying:
      if (!resources_->mesh.all_sent() && endpoint_.now() < give_up_at_) return moved;
      withdraw();
      state_ = State::kSettling;
      return true;
    case State::kSettling:
      if (endpoint_.now() >= give_up_at_) drop_unsettled();
      if (!settle()) return moved;
      state_ = State::kFailed;
      return true;
    default:
      return advance_shrinking() || moved;
  }
}

// Ends what is posted to ranks that live, and leaves their connections open. A rank that another
// has found to be gone is not waited for.
void Communicator::Body::withdraw() {
  resources_->mesh.shut_memory();
  const bool gone = failure_->code == ErrorCode::kPeerDead && failure_->rank < members_.size() &&
                    failure_->rank != members_.rank;
  if (gone) resources_->mesh.drop(failure_->rank);
  for (const auto& lane : lanes_) {
    if (lane->busy) lane->execution.withdraw();
  }
  for (const auto& message : messages_) {
    if (message->busy) message->execution.withdraw();
  }
  resources_->buffered_sends.withdraw();
  resources_->mesh.begin_keeping();
  give_up_at_ = endpoint_.now() + params::kWithdrawTime;
}

void Communicator::Body::drop_unsettled() {
  const auto drop = [this](const std::unique_ptr<Running>& running) {
    if (!running->busy) return;
    for (const uint32_t rank : running->execution.waits_for()) resources_->mesh.drop(rank);
  };
  std::for_each(lanes_.begin(), lanes_.end(), drop);
  std::for_each(messages_.begin(), messages_.end(), drop);
  if (resources_->buffered_sends.reap()) return;
  resources_->mesh.drop_connection(resources_->buffered_sends.unfinished());
}

bool Communicator::Body::settle() {
  bool settled = true;
  const auto look = [&settled](const std::unique_ptr<Running>& running) {
    if (running->busy && !running->execution.settled()) settled = false;
  };
  std::for_each(lanes_.begin(), lanes_.end(), look);
  std::for_each(messages_.begin(), messages_.end(), look);
  if (!resources_->buffered_sends.reap() || !settled) return false;
  const auto end = [this](uint64_t request) {
    if (request != 0) finish_request(request, false);
  };
  for (const auto& lane : lanes_) {
    if (lane->busy) end(lane->request);
    lane->busy = false;
  }
  for (const auto& message : messages_) {
    if (message->busy) end(message->request);
    message->busy = false;
  }
  while (!collectives_waiting_.empty()) end(collectives_waiting_.pop_front().request);
  for (const Waiting& waiting : messages_waiting_) end(waiting.request);
  messages_waiting_.clear();
  return true;
}

// --- the ranks that are left ---

bool Communicator::Body::advance_shrinking() {
  if (shrinks_ && !survivors_->begun())
    survivors_->begin(shrinks_->join_within, shrinks_->newcomers);
  return survivors_->advance();
}

std::optional<Result<Survivors::Left>> Communicator::Body::take_left() {
  if (!shrinks_ || state_ != State::kFailed) return std::nullopt;
  if (!survivors_->begun() || !survivors_->outcome()) return std::nullopt;
  if (left_taken_) return fail(ErrorCode::kInvalid, "cannot shrink", "it was shrunk before");
  left_taken_ = true;
  return *survivors_->outcome();
}

CommunicatorOptions Communicator::Body::options_of_next() const {
  CommunicatorOptions options = options_;
  if (!tuning_) return options;
  options.tuning = *tuning_;
  options.tuning.costs = {};
  options.tuning.group_ranks = 1;  // other ranks are neighbours now
  options.tuning.to_be_measured = false;
  return options;
}

// --- calls that wait for long ---

Communicator::Attention Communicator::Body::attend() {
  if (goodbye_ == Goodbye::kGraceful) return {.again_at = goodbye_until_};
  const bool moved = advance();
  const Nanos now = endpoint_.now();
  if (state_ == State::kFailed) {
    return {moved, std::min(survivors_->due_at(), resources_->mesh.looks_again_at())};
  }
  if (!works()) return {moved, now + params::kFailurePollTime};
  const Nanos looks_at = resources_->mesh.looks_again_at();
  if (!busy()) return {moved, looks_at};
  return {moved, std::min(waits_since_.value_or(now) + options_.stalled_after, looks_at)};
}

std::string Communicator::Body::waits_for() const {
  const Running* oldest = nullptr;
  const auto consider = [&oldest](const std::unique_ptr<Running>& running) {
    if (running->busy && (oldest == nullptr || running->number < oldest->number)) {
      oldest = running.get();
    }
  };
  std::for_each(lanes_.begin(), lanes_.end(), consider);
  if (oldest == nullptr) std::for_each(messages_.begin(), messages_.end(), consider);
  if (oldest == nullptr) return "it has not begun";
  const Signature signature = signature_of(oldest->call, oldest->number, members_.rank,
                                           oldest->call.collective == Collective::kSend);
  // The rank it waits for may itself wait for a straggler.
  std::vector<uint32_t> missing = late_.missing(oldest->number);
  const bool late = !missing.empty();
  if (!late) missing = oldest->execution.waits_for();
  if (missing.empty()) return signature.text() + " is under way and waits for no rank";
  std::string ranks;
  for (const uint32_t rank : missing) {
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  }
  const bool many = ranks.find(',') != std::string::npos;
  const char* const why = !late  ? ""
                          : many ? ", which have not called it"
                                 : ", which has not called it";
  return signature.text() + " waits for rank" + (many ? "s " : " ") + ranks + why;
}

void Communicator::Body::handle_time(bool moved) {
  if (moved || !busy()) return waits_since_.reset();
  const Nanos now = endpoint_.now();
  if (!waits_since_) waits_since_ = now;
  if (now - *waits_since_ < options_.stalled_after) return;
  waits_since_ = now;
  ask_stalled();
}

// Finds calls that differ between ranks so that none of their messages match.
void Communicator::Body::ask_stalled() {
  for (const auto& lane : lanes_) {
    if (!lane->busy) continue;
    for (const uint32_t rank : lane->execution.waits_for()) {
      // Of two ranks the higher one connects, in its first call with the other.
      if (!resources_->mesh.connected(rank)) handle_late({lane->number, rank});
      resources_->mesh.send_stalled(rank, lane->execution.signature_with(rank, true));
    }
  }
  ask_late();
}

// Asks each reported straggler directly: it answers, and sends a message when it makes the call.
// One that has not connected yet is asked when it has.
void Communicator::Body::ask_late() {
  late_.ask_unasked([this](uint64_t number, uint32_t rank) {
    const Running& lane = *lanes_[number % kLanes];
    if (!resources_->mesh.connected(rank) || !lane.busy || lane.number != number) return false;
    resources_->mesh.send_stalled(rank, lane.execution.signature_with(rank, true));
    return true;
  });
}

void Communicator::Body::handle_stalled() {
  Mesh::Stalled stalled;
  while (resources_->mesh.poll_stalled(stalled)) {
    answer_stalled(stalled.rank, stalled.signature.number);
    if (pending_remote_.size() < params::kPendingRemoteCalls) {
      pending_remote_[{stalled.rank, stalled.signature.number}] = stalled.signature;
    }
  }
  Late late;
  while (resources_->mesh.poll_late(late)) handle_late(late);
  std::erase_if(pending_remote_, [this](const auto& item) {
    const auto& [from, theirs] = item;
    const Past& past = past_[theirs.number % past_.size()];
    if (theirs.number >= next_started_) return false;  // not called here yet
    const bool counts = theirs.collective != Collective::kAllToAllV;
    if (past.number == theirs.number && counts && past.signature != theirs) {
      fail_all({ErrorCode::kInvalid, from.first,
                "rank " + std::to_string(members_.rank) + " made " + past.signature.text() +
                    ", rank " + std::to_string(from.first) + " waits in " + theirs.text()});
    }
    return true;
  });
}

// In this way every rank of a chain of waiting ranks learns which rank is missing.
void Communicator::Body::answer_stalled(uint32_t from, uint64_t number) {
  if (number >= Agreement::kFirstNumber) return;
  const bool came = number < next_number_;
  resources_->mesh.send_late(from, {number, members_.rank, came});
  if (!came) return late_.note_asker(number, from);
  for (const uint32_t rank : late_.missing(number)) {
    resources_->mesh.send_late(from, {number, rank});
  }
}

void Communicator::Body::send_arrival(uint64_t number) {
  const StragglerTracker::Askers askers = late_.take_askers(number);
  for (const auto& [call, rank] : askers.known) {
    resources_->mesh.send_late(rank, {call, members_.rank, true});
  }
  if (askers.more) resources_->mesh.broadcast_late({number, members_.rank, true});
}

uint64_t Communicator::Body::oldest_call() const {
  uint64_t oldest = next_started_;
  for (const auto& lane : lanes_) {
    if (lane->busy) oldest = std::min(oldest, lane->number);
  }
  return oldest;
}

// Forwarded once: a rank that asked before this was known does not have to ask again.
void Communicator::Body::handle_late(const Late& late) {
  if (late.rank == members_.rank || late.number >= Agreement::kFirstNumber) return;
  late_.forget_before(oldest_call());
  if (late_.note(late)) resources_->mesh.broadcast_late(late);
}

// --- the end ---

void Communicator::Body::begin_goodbye() {
  if (goodbye_ != Goodbye::kNone) return;
  if (state_ == State::kWorking && (busy() || !tuning_)) {
    fail_all({ErrorCode::kCancelled, members_.rank,
              "rank " + std::to_string(members_.rank) +
                  " ended the communicator with calls "
                  "under way"});
  }
  goodbye_ = state_ == State::kWorking ? Goodbye::kGraceful : Goodbye::kFailing;
  if (goodbye_ == Goodbye::kGraceful) resources_->mesh.begin_close();
  goodbye_until_ = endpoint_.now() + params::kGoodbyeTime;
}

bool Communicator::Body::goodbye_said() {
  if (goodbye_ == Goodbye::kGraceful && resources_->mesh.closed()) return true;
  if (goodbye_ == Goodbye::kFailing && state_ == State::kFailed) return true;
  return endpoint_.now() >= goodbye_until_;
}

void Communicator::Body::say_goodbye() {
  begin_goodbye();
  while (!goodbye_said()) {
    if (goodbye_ == Goodbye::kFailing && advance()) continue;
    const Nanos before = endpoint_.now();
    // Where the owner drives the endpoint, waiting is impossible.
    if (!endpoint_.progress(params::kFailurePollTime) && endpoint_.now() == before) break;
  }
  resources_->mesh.abort();
}

}  // namespace heddle::collectives
