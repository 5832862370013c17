// EndpointLock: the lock of an endpoint's state and datapath. One mutex guards the state. The
// driving thread releases it only to sleep in Datapath::wait(). Meanwhile other threads may post;
// before they touch the datapath they must wake the driver. No thread of a fork() child enters: see
// Endpoint::body_.
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

  // Access to the state only. A driving thread yields the mutex to threads that wait here.
  Lock lock();
  // Access to the state only, if the mutex is free.
  Lock try_lock() { return mutex_.try_lock(); }
  // Access to state and datapath: wakes a sleeping driver and waits until it has returned.
  Lock lock_all();

  // True while the driving thread sleeps; the caller holds the lock.
  bool sleeping() const { return sleeping_; }

  // Lets waiting threads take the mutex briefly; the lock is held before and after.
  void give_way(Lock& lock);
  // Sleeps in the datapath with the mutex released; the lock is held before and after.
  void sleep(Lock& lock, Nanos until);

 private:
  datapath::Datapath& datapath_;
  OwnMutex mutex_;
  std::condition_variable awake_;
  std::atomic<int> claims_{0};  // threads that wait for the mutex
  int callers_back_ = 0;        // threads in lock_all() that wait until the driver has returned
  bool sleeping_ = false;
};

}  // namespace heddle::engine
