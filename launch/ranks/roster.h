// Roster: the ranks of a run, which of them were lost, and what is to be done about it: whether
// the run goes on, when a newcomer is started, which rank is ended where there are too many. It
// starts and ends nothing itself.
//
// Each process has a number of its own: the ranks of the start have theirs, newcomers get the next.
// A newcomer waits until the ranks take it in; from then on it is a member, as they are. Members
// that have ended with 0 are not lost, so they count among those that are left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "launch/plan.h"

namespace heddle::launch {

class Roster {
 public:
  // Without `elastic` no loss is allowed.
  Roster(uint32_t ranks, const std::optional<Elastic>& elastic, Nanos now);

  // --- what happened ---

  // It ended, and not with 0.
  void lose(uint32_t number, Nanos now);
  // A member ended with 0: from now on none is replaced or added, and none released.
  void finish(uint32_t number) { processes_[number].state = State::kFinished; }
  void take_in(uint32_t number, Nanos now);
  // It was asked to end.
  void release(uint32_t number);
  // The number of the next newcomer; it was started, or could not be.
  uint32_t next_number() const { return static_cast<uint32_t>(processes_.size()); }
  void add_newcomer(Nanos now);
  void fail_to_start(Nanos now);
  // From now on as many are wanted. Errors: kInvalid where the run does not allow it.
  Result<void> resize(uint32_t ranks);

  // --- what is so ---

  bool is_member(uint32_t number) const { return state(number) == State::kMember; }
  bool is_waiting(uint32_t number) const { return state(number) == State::kWaiting; }
  bool is_released(uint32_t number) const { return state(number) == State::kReleased; }
  // Members that run.
  std::vector<uint32_t> members() const { return with(State::kMember); }
  std::vector<uint32_t> waiting() const { return with(State::kWaiting); }
  // Members that run or have ended with 0.
  uint32_t left() const;
  bool enough_left() const { return left() >= min_ranks_; }
  uint32_t wanted() const { return wanted_; }

  // --- what is to be done ---

  // When the next newcomer is to be started; nothing: none is. From the second time in a row that
  // processes end soon after the last start, it is put off, each time twice as long.
  std::optional<Nanos> next_start(Nanos now) const;
  // The process to be ended where there are too many; newcomers that wait go first.
  std::optional<uint32_t> surplus() const;

  // "3 of 4 ranks are left, at least 2 are needed".
  std::string left_text() const;
  // For the end of a run that went on: "rank 2 was lost" or "ranks 2, 0 were lost", with the number
  // that is left. Empty where none was lost.
  std::string summary() const;

 private:
  enum class State : uint8_t { kMember, kWaiting, kReleased, kFinished, kLost, kNeverIn };
  struct Process {
    State state = State::kMember;
    Nanos since;
  };

  State state(uint32_t number) const { return processes_[number].state; }
  std::vector<uint32_t> with(State state) const;
  uint32_t count(State state) const { return static_cast<uint32_t>(with(state).size()); }
  // A process ended before its time.
  void note_end(const Process& process, Nanos now);
  bool ends() const { return count(State::kFinished) > 0; }

  uint32_t min_ranks_;
  uint32_t most_;  // that may be wanted
  bool replaces_;
  uint32_t wanted_;
  std::vector<Process> processes_;  // by number
  std::vector<uint32_t> lost_;      // members, in the order of their ends
  uint32_t early_ends_ = 0;         // in a row: of all between two starts one
  bool counted_ = false;            // one since the last start
  Nanos not_before_{0};
};

}  // namespace heddle::launch
