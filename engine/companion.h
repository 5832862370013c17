// Companion: a second poll source of an endpoint, such as shared memory. The driving thread polls
// the network and the companion, and sleeps until one of them has work. A producer wakes a sleeping
// driver by a write to Endpoint::wake_descriptor().
#pragma once

namespace heddle::engine {

class Companion {
 public:
  virtual ~Companion() = default;

  // True if work arrived since the last call that returned true. The driving thread calls it often.
  virtual bool arrived() = 0;
  // Called by the driving thread before it sleeps: from now on, producers must wake it. Returns
  // false if work has already arrived; the thread then polls instead of sleeping.
  virtual bool before_sleep() = 0;
  virtual void after_sleep() = 0;
};

}  // namespace heddle::engine
