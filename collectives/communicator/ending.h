// Ending: how a communicator ends: by a failure or by a close. A rank that learns of a failure
// sends it to all ranks that it is connected to, withdraws what it has posted so that no memory is
// accessed any more, and only then ends its calls.
#pragma once

#include <cstdint>
#include <optional>

#include "base/nanos.h"
#include "collectives/communicator/running_calls.h"
#include "collectives/execution/execution.h"

namespace heddle::collectives {

class Ending {
 public:
  // Both must outlive it.
  Ending(Resources& resources, RunningCalls& running) : resources_(resources), running_(running) {}

  // --- a failure ---
  bool works() const { return state_ == State::kWorking; }
  // Nothing runs any more, and calls may end.
  bool failed() const { return state_ == State::kFailed; }
  const std::optional<Failure>& failure() const { return failure_; }
  // The first counts.
  void fail(Failure failure);
  // Before failed(). True: something moved.
  bool advance();

  // --- a close ---
  bool says_goodbye() const { return goodbye_ != Goodbye::kNone; }
  bool closes() const { return goodbye_ == Goodbye::kGraceful; }
  // After a failure: goodbye is said when that is over.
  void begin_goodbye();
  bool goodbye_said() const;
  Nanos goodbye_until() const { return goodbye_until_; }

 private:
  enum class State : uint8_t {
    kWorking,
    kNotifying,  // the failure is sent to the other ranks
    kSettling,   // operations are withdrawn and end
    kFailed,
  };
  enum class Goodbye : uint8_t { kNone, kGraceful, kFailing };

  void withdraw();
  void drop_unsettled();
  bool settled();

  Resources& resources_;
  RunningCalls& running_;
  State state_ = State::kWorking;
  Goodbye goodbye_ = Goodbye::kNone;
  std::optional<Failure> failure_;
  Nanos give_up_at_;
  Nanos goodbye_until_;
};

}  // namespace heddle::collectives
