// Followers: threads that wait while another thread leads the endpoint. They sleep until the leader
// notifies them.
#pragma once

#include <condition_variable>
#include <cstdint>

#include "base/nanos.h"
#include "base/own_mutex.h"
#include "engine/endpoint_lock.h"

namespace heddle::engine {

class Followers {
 public:
  // Wakes all that wait. The caller holds the endpoint's lock.
  void notify();
  // Sleeps until notify() or until `most` has passed, with `held`, a lock of `state`, released. It
  // is reacquired by EndpointLock::lock(), which makes a spinning leader yield; a condition
  // variable on the endpoint's mutex would reacquire it without this signal.
  void wait(EndpointLock& state, EndpointLock::Lock& held, Nanos most);

 private:
  int waiting_ = 0;             // under the endpoint's lock
  OwnMutex mutex_;              // acquired while holding the endpoint's, never before it
  uint64_t notifications_ = 0;  // under mutex_
  std::condition_variable notified_;
};

}  // namespace heddle::engine
