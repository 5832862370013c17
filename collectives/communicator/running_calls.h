// RunningCalls: the calls that have begun. Collectives are dealt to lanes in turn, each with
// channels of its own, so that calls run side by side and each lane's in order; messages between
// two ranks share one channel a connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/call.h"
#include "collectives/communicator/call_queue.h"
#include "collectives/execution/execution.h"
#include "collectives/params.h"

namespace heddle::collectives {

struct RunningCall {
  explicit RunningCall(Resources& resources) : execution(resources) {}

  void take(WaitingCall waiting);

  Call call;
  uint64_t number = 0;
  uint64_t request = 0;
  bool busy = false;
  bool posted = false;  // messages between two: the next on its stream may begin
  Execution execution;
};

class RunningCalls {
 public:
  static constexpr uint32_t kLanes = params::kLanes;
  static constexpr engine::Channel kMessageChannel = 1;
  static constexpr engine::Channel kFirstLane = 2;

  explicit RunningCalls(Resources& resources);

  // The lane of a collective, by its number.
  RunningCall& lane_of(uint64_t number) { return *lanes_[number % kLanes]; }
  static engine::Channel channel_of(uint64_t number) {
    return static_cast<engine::Channel>(kFirstLane + number % kLanes * kStepChannels);
  }
  // One in which a message can begin.
  RunningCall& idle_message();

  // The number of the collective that begins next.
  uint64_t next_collective() const { return next_collective_; }
  void note_collective_begun() { ++next_collective_; }
  // The lowest number of a running collective, or of the next one.
  uint64_t oldest_number() const;
  // Of the running collectives, or else messages, the one of lowest number; null: nothing runs.
  const RunningCall* oldest() const;

  // Each calls visit(RunningCall&) for those that are busy when their turn comes.
  template <typename Visit>
  void visit_lanes(Visit visit) {
    for (const auto& lane : lanes_) {
      if (lane->busy) visit(*lane);
    }
  }
  template <typename Visit>
  void visit_messages(Visit visit) {
    for (size_t i = 0; i < messages_.size(); ++i) {
      if (messages_[i]->busy) visit(*messages_[i]);
    }
  }
  template <typename Visit>
  void visit(Visit visit) {
    visit_lanes(visit);
    visit_messages(visit);
  }

 private:
  Resources& resources_;
  std::array<std::unique_ptr<RunningCall>, kLanes> lanes_;
  std::vector<std::unique_ptr<RunningCall>> messages_;  // busy and idle
  uint64_t next_collective_ = 1;
};

}  // namespace heddle::collectives
