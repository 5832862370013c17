// WaitWatcher: a thread that samples what callers sleep on while their calls run, so that waits by
// other libraries' means are recorded. A progress thread has one; it starts with the first call to
// watch, and sleeps while none runs.
#pragma once

#include <condition_variable>
#include <memory>
#include <vector>

#include "base/nanos.h"
#include "base/own_mutex.h"
#include "base/thread.h"
#include "collectives/pending_call.h"
#include "collectives/progress/call_state.h"
#include "collectives/progress/params.h"
#include "collectives/progress/sleep_source.h"

namespace heddle::collectives {

class WaitDetector;

class WaitWatcher {
 public:
  // The calling thread may wait for `call` on such an object. No effect where the system allows no
  // more threads, after stop(), or in a child of fork().
  void watch(std::shared_ptr<CallState> call, const AwaitedObject& object);
  // Ends the thread.
  void stop();

 private:
  struct Added {
    ThreadId thread;
    AwaitedObject object;
    std::shared_ptr<CallState> call;
  };

  void loop();
  // Until calls were added, the awaited call has ended, or the interval is over. False: stop() was
  // called.
  bool rest(const WaitDetector& detector);
  // The time until the next sample; `hurry`: a wait may begin now.
  void set_interval(bool hurry, Nanos most);

  OwnMutex mutex_;
  std::condition_variable changed_;
  std::vector<Added> added_;  // under mutex_
  bool heeds_added_ = false;  // under mutex_: they interrupt the rest
  bool stopping_ = false;     // under mutex_
  Thread thread_;             // under mutex_
  // Only its thread:
  std::vector<Added> taken_;
  Nanos interval_ = params::kSoonSample;
  Nanos hurried_;  // when it last did
};

}  // namespace heddle::collectives
