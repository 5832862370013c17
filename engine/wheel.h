// Wheel: who may touch an endpoint's state and its datapath when several threads use it.
// State is guarded by one mutex. The thread that drives gives the mutex up only to sleep in
// Datapath::wait(); meanwhile others may post, and must call it back before they touch the
// datapath.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/nanos.h"

namespace heddle::datapath {
class Datapath;
}

namespace heddle::engine {

class Wheel {
 public:
  using Lock = std::unique_lock<std::mutex>;

  explicit Wheel(datapath::Datapath& datapath) : datapath_(datapath) {}

  // For state only. A driving thread gives way to whoever waits here.
  Lock lock();
  // For state only, if nobody has it now.
  Lock try_lock() { return Lock(mutex_, std::try_to_lock); }
  // For state and datapath: calls a sleeping driver back first.
  Lock lock_all();

  // True while the driving thread sleeps; the lock is held.
  bool sleeping() const { return sleeping_; }

  // Lets waiting threads have the mutex for a moment; the lock is held before and after.
  void give_way(Lock& lock);
  // Sleeps in the datapath without the mutex; the lock is held before and after.
  void sleep(Lock& lock, Nanos until);

 private:
  datapath::Datapath& datapath_;
  std::mutex mutex_;
  std::condition_variable awake_;
  std::atomic<int> claims_{0};  // threads between asking for the mutex and having it
  int callers_back_ = 0;        // threads in lock_all() that wait for the driver to return
  bool sleeping_ = false;
};

}  // namespace heddle::engine
