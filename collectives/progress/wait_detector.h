// WaitDetector: finds which calls threads wait for that do not wait by PendingCall. The wait
// watcher's thread adds calls and takes samples; each call reports its waits itself (CallState).
#pragma once

#include <memory>
#include <vector>

#include "collectives/pending_call.h"
#include "collectives/progress/call_state.h"
#include "collectives/progress/sleep_source.h"

namespace heddle::collectives {

class WaitDetector {
 public:
  explicit WaitDetector(SleepSource& source) : source_(source) {}

  // The thread may wait for the call, on such an object. Adding it again has no effect.
  void add(ThreadId thread, const AwaitedObject& object, std::shared_ptr<CallState> call);
  // A thread that sleeps on such an object waits for the oldest of its calls that run: calls of one
  // communicator end in their order. One that has ended, or has no call, waits for none.
  void sample();
  // No call runs.
  bool idle() const { return watched_.empty(); }
  // Every thread with a call waits, as of the last sample.
  bool all_wait() const;
  // The call that some thread waits for, as of the last sample; null: none does.
  std::shared_ptr<CallState> awaited() const;

 private:
  struct Watched {
    ThreadId thread = 0;
    AwaitedObject object;
    std::vector<std::shared_ptr<CallState>> running;
    std::shared_ptr<CallState> awaited;  // null: it does not wait
  };

  void sample(Watched& watched);

  SleepSource& source_;
  std::vector<Watched> watched_;
};

}  // namespace heddle::collectives
