// Companion: work that reaches who drives an endpoint by another way than its network, as memory
// that is shared with other processes. Whoever drives looks at both, and sleeps for both. Whoever
// brings work to a driver that sleeps writes to Endpoint::wake_descriptor().
#pragma once

namespace heddle::engine {

class Companion {
 public:
  virtual ~Companion() = default;

  // Whether something came since this last answered true. The driving thread asks, often.
  virtual bool arrived() = 0;
  // The driving thread is about to sleep: from here on it has to be woken. False: something came
  // before that could be known, and it must look instead.
  virtual bool before_sleep() = 0;
  virtual void after_sleep() = 0;
};

}  // namespace heddle::engine
