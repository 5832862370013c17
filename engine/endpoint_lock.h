// EndpointLock: guards an endpoint's state and its datapath when several threads use it. One mutex
// guards the state. The driving thread releases it only to sleep in Datapath::wait(); meanwhile
// other threads may post, and must wake the driver before they use the datapath. A child of fork()
// never locks it: see Endpoint::body_.
#pragma once

#include <atomic>
#include <condition_variable>

#include "base/nanos.h"
#include "base/own_mutex.h"

namespace heddle::datapath {
class Datapath;
}

namespace heddle::engine {

class EndpointLock {
 public:
  using Lock = OwnMutex::Lock;

  explicit EndpointLock(datapath::Datapath& datapath) : datapath_(datapath) {}

  bool in_child() const { return mutex_.in_child(); }

  // For state only. A driving thread gives way to whoever waits here.
  Lock lock();
  // For state only, if nobody has it now.
  Lock try_lock() { return mutex_.try_lock(); }
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
  OwnMutex mutex_;
  std::condition_variable awake_;
  std::atomic<int> claims_{0};  // threads between asking for the mutex and having it
  int callers_back_ = 0;        // threads in lock_all() that wait for the driver to return
  bool sleeping_ = false;
};

}  // namespace heddle::engine
