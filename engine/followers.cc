// Threads that wait for the one that leads: see followers.h.
#include "engine/followers.h"

#include <chrono>

namespace heddle::engine {

void Followers::notify() {
  if (waiting_ == 0) return;
  {
    const OwnMutex::Lock notifying = mutex_.lock();
    ++notifications_;
  }
  notified_.notify_all();
}

void Followers::wait(EndpointLock& state, EndpointLock::Lock& held, Nanos most) {
  ++waiting_;
  {
    OwnMutex::Lock sleeping = mutex_.lock();
    const uint64_t before = notifications_;
    held.unlock();
    notified_.wait_for(sleeping, std::chrono::nanoseconds(most.count),
                       [this, before] { return notifications_ != before; });
  }
  held = state.lock();
  --waiting_;
}

}  // namespace heddle::engine
