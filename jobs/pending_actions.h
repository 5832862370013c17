// PendingActions: the computations and calls of a rank's step that have begun or wait for others.
// It decides when each may start: after the actions that it names, computations of a lane one at a
// time, and calls of a communicator in the order of the program. RankProgram drives it. No I/O.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "base/nanos.h"
#include "topology/job.h"

namespace heddle::jobs {

class PendingActions {
 public:
  struct Call {
    uint32_t number = 0;  // for ended()
    const topology::Action* action = nullptr;
  };

  // In the order of the program. The action, no wait, outlives the step.
  void add(const topology::Action& action);
  // Ends computations whose time is over and starts those that may start. True: some ended.
  bool compute(Nanos now);
  // A call that may start now.
  std::optional<Call> take_call();
  void call_ended(uint32_t number) { ended(number); }
  // When compute() has something to end; never(): nothing is computed.
  Nanos next_end() const;
  // Whether an action with that label, or any with kEveryLabel, has not ended.
  bool holds(uint32_t label) const;
  bool computing() const { return busy_lanes_ > 0; }
  // How long at least one lane has computed in this step.
  Nanos computed(Nanos now) const;
  // Nothing is pending any more: forgets the step.
  void end_step();

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  // Messages to and from each peer have an order of their own.
  using Order = std::tuple<uint32_t, topology::CallKind, uint32_t>;

  struct Entry {
    const topology::Action* action = nullptr;
    uint32_t unmet = 0;
    bool ended = false;
    std::vector<uint32_t> dependents;
  };
  struct Lane {
    std::set<uint32_t> ready;
    uint32_t running = kNone;
    Nanos until;
  };
  struct Label {
    uint32_t newest = kNone;
    uint32_t open = 0;
  };

  static Order order_of(const topology::Action& action);
  Label& label(uint32_t number);
  void may_start(uint32_t number);
  void release(std::deque<uint32_t>& queue);
  void ended(uint32_t number);
  bool turn(Lane& lane, Nanos now);

  std::vector<Entry> entries_;
  std::vector<Label> labels_;
  uint32_t blocking_ = 0;  // open actions without a label
  uint32_t open_ = 0;
  std::map<Order, std::deque<uint32_t>> queues_;  // of calls that cannot start yet
  std::deque<uint32_t> calls_;                    // that can
  std::vector<Lane> lanes_;
  uint32_t busy_lanes_ = 0;
  Nanos busy_since_;
  Nanos busy_until_;
  Nanos computed_;
};

}  // namespace heddle::jobs
