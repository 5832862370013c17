// PollSource: a second source of work for the thread that drives an endpoint, beside its network:
// memory that is shared with other processes. The driver polls both before it sleeps. A process
// that adds work for a sleeping driver writes to Endpoint::wake_descriptor().
#pragma once

namespace heddle::engine {

class PollSource {
 public:
  virtual ~PollSource() = default;

  // Whether work has arrived since this last returned true. The driving thread calls it often.
  virtual bool arrived() = 0;
  // The driving thread is about to sleep: from now on peers must wake it. False: work has arrived
  // meanwhile, and the thread must poll again.
  virtual bool before_sleep() = 0;
  virtual void after_sleep() = 0;
};

}  // namespace heddle::engine
