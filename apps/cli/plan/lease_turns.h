// LeaseTurns: a thread that renews a lease while the command runs, so that a store that hangs never
// delays the end of the command. It releases the lease at the end. Used by lease_command.
#pragma once

#include <functional>
#include <memory>

#include "base/nanos.h"
#include "base/result.h"
#include "base/thread.h"

namespace heddle::cli {

class LeaseTurns {
 public:
  struct Work {
    Nanos interval;
    std::function<void()> turn;  // once an interval
    std::function<void()> end;   // at last
  };

  // Errors: kExhausted (no thread).
  static Result<LeaseTurns> start(Work work);

  // Ends the turns, and waits until `end` is done, at most this time. False: it is not; the thread
  // goes on with what `work` names.
  bool stop(Nanos most);

 private:
  struct State;  // shared with the thread

  LeaseTurns(std::shared_ptr<State> state, Thread thread)
      : state_(std::move(state)), thread_(std::move(thread)) {}

  std::shared_ptr<State> state_;
  Thread thread_;
};

}  // namespace heddle::cli
