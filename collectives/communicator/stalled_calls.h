// StalledCalls: calls that wait for other ranks. This rank asks the ranks that it waits for,
// answers those that wait for it, and so compares calls of which no messages match because they
// differ; reports of ranks that have not made a call go round by StragglerTracker.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "collectives/communicator/call_queue.h"
#include "collectives/communicator/running_calls.h"
#include "collectives/communicator/straggler_tracker.h"
#include "collectives/execution/mesh.h"
#include "collectives/params.h"

namespace heddle::collectives {

class StalledCalls {
 public:
  // All must outlive it. A call that waits for longer than `stalled_after` asks.
  StalledCalls(Mesh& mesh, RunningCalls& running, const CallQueue& queue, uint32_t rank,
               Nanos stalled_after)
      : mesh_(mesh), running_(running), queue_(queue), rank_(rank), stalled_after_(stalled_after) {}

  // This rank has made a collective: ranks that asked about it are notified.
  void note_made(uint64_t number);
  // It begins.
  void note_begun(const WaitingCall& begun);
  // Answers reports of other ranks. The failure: a rank made another call than this one.
  std::optional<Failure> handle_reports();
  // Asks the ranks that stalled calls wait for, when it is time. `moved`: no call waits, or one has
  // just gone on.
  void handle_time(bool moved, Nanos now);
  Nanos asks_at(Nanos now) const { return waits_since_.value_or(now) + stalled_after_; }
  // Asks reported stragglers that were not asked yet.
  void ask_late() {
    if (late_.any_unasked()) ask_unasked();
  }
  // The ranks that are known not to have made a call, in order.
  std::vector<uint32_t> missing(uint64_t number) const { return late_.missing(number); }

 private:
  // Calls of the past by number, to be compared with those that others wait for.
  struct Past {
    uint64_t number = UINT64_MAX;
    Signature signature;
  };

  void ask();
  void ask_unasked();
  void answer(uint32_t from, uint64_t number);
  void handle_late(const Late& late);
  std::optional<Failure> compare_pending();

  Mesh& mesh_;
  RunningCalls& running_;
  const CallQueue& queue_;
  const uint32_t rank_;
  const Nanos stalled_after_;
  std::array<Past, params::kPastCalls> past_{};
  std::map<std::pair<uint32_t, uint64_t>, Signature> pending_remote_;  // by rank and number
  StragglerTracker late_;
  std::optional<Nanos> waits_since_;  // nothing: it has just moved
};

}  // namespace heddle::collectives
