// StalledCalls: see stalled_calls.h.
#include "collectives/communicator/stalled_calls.h"

#include <string>

#include "collectives/communicator/agreement.h"

namespace heddle::collectives {

void StalledCalls::note_made(uint64_t number) {
  if (!late_.any_asker()) return;
  const StragglerTracker::Askers askers = late_.take_askers(number);
  for (const auto& [call, rank] : askers.known) {
    mesh_.send_late(rank, {call, rank_, true});
  }
  if (askers.more) mesh_.broadcast_late({number, rank_, true});
}

void StalledCalls::note_begun(const WaitingCall& begun) {
  past_[begun.number % past_.size()] = {begun.number,
                                        signature_of(begun.call, begun.number, rank_, true)};
}

void StalledCalls::handle_time(bool moved, Nanos now) {
  if (moved) return waits_since_.reset();
  if (!waits_since_) waits_since_ = now;
  if (now - *waits_since_ < stalled_after_) return;
  waits_since_ = now;
  ask();
}

// Finds calls that differ between ranks so that none of their messages match.
void StalledCalls::ask() {
  running_.visit_lanes([this](RunningCall& lane) {
    for (const uint32_t rank : lane.execution.waits_for()) {
      // Of two ranks the higher one connects, in its first call with the other.
      if (!mesh_.connected(rank)) handle_late({lane.number, rank});
      mesh_.send_stalled(rank, lane.execution.signature_with(rank, true));
    }
  });
  ask_unasked();
}

// Asks each reported straggler directly: it answers, and sends a message when it makes the call.
// One that has not connected yet is asked when it has.
void StalledCalls::ask_unasked() {
  late_.ask_unasked([this](uint64_t number, uint32_t rank) {
    const RunningCall& lane = running_.lane_of(number);
    if (!mesh_.connected(rank) || !lane.busy || lane.number != number) return false;
    mesh_.send_stalled(rank, lane.execution.signature_with(rank, true));
    return true;
  });
}

std::optional<Failure> StalledCalls::handle_reports() {
  Mesh::Stalled stalled;
  while (mesh_.poll_stalled(stalled)) {
    answer(stalled.rank, stalled.signature.number);
    if (pending_remote_.size() < params::kPendingRemoteCalls) {
      pending_remote_[{stalled.rank, stalled.signature.number}] = stalled.signature;
    }
  }
  Late late;
  while (mesh_.poll_late(late)) handle_late(late);
  return compare_pending();
}

// Forgets those that this rank has made, too; of those that differ the first counts.
std::optional<Failure> StalledCalls::compare_pending() {
  std::optional<Failure> failure;
  std::erase_if(pending_remote_, [this, &failure](const auto& item) {
    const auto& [from, theirs] = item;
    const Past& past = past_[theirs.number % past_.size()];
    if (theirs.number >= running_.next_collective()) return false;  // not called here yet
    const bool counts = theirs.collective != Collective::kAllToAllV;
    if (past.number == theirs.number && counts && past.signature != theirs && !failure) {
      failure = {ErrorCode::kInvalid, from.first,
                 "rank " + std::to_string(rank_) + " made " + past.signature.text() + ", rank " +
                     std::to_string(from.first) + " waits in " + theirs.text()};
    }
    return true;
  });
  return failure;
}

// In this way every rank of a chain of waiting ranks learns which rank is missing.
void StalledCalls::answer(uint32_t from, uint64_t number) {
  if (number >= Agreement::kFirstNumber) return;
  const bool came = number < queue_.next_number();
  mesh_.send_late(from, {number, rank_, came});
  if (!came) return late_.note_asker(number, from);
  for (const uint32_t rank : late_.missing(number)) {
    mesh_.send_late(from, {number, rank});
  }
}

// Forwarded once: a rank that asked before this was known does not have to ask again.
void StalledCalls::handle_late(const Late& late) {
  if (late.rank == rank_ || late.number >= Agreement::kFirstNumber) return;
  late_.forget_before(running_.oldest_number());
  if (late_.note(late)) mesh_.broadcast_late(late);
}

}  // namespace heddle::collectives
