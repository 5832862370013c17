// EndpointLock: see endpoint_lock.h.
#include "engine/endpoint_lock.h"

#include <thread>

#include "datapath/datapath.h"
#include "engine/cores.h"

namespace heddle::engine {

EndpointLock::Lock EndpointLock::lock() {
  Lock lock = mutex_.try_lock();
  if (lock.owns_lock()) return lock;
  claims_.fetch_add(1, std::memory_order_relaxed);
  lock = mutex_.lock();
  claims_.fetch_sub(1, std::memory_order_relaxed);
  return lock;
}

EndpointLock::Lock EndpointLock::lock_all() {
  Lock lock = this->lock();
  if (!sleeping_) return lock;
  ++callers_back_;
  datapath_.wake();
  awake_.wait(lock, [this] { return !sleeping_; });
  --callers_back_;
  awake_.notify_all();
  return lock;
}

void EndpointLock::give_way(Lock& lock) {
  if (claims_.load(std::memory_order_relaxed) == 0) return;
  lock.unlock();
  // Mutexes are not fair: without this pause the driver would usually reacquire it at once.
  for (int i = 0; i < 64 && claims_.load(std::memory_order_relaxed) > 0; ++i) {
    if (i < 16) {
      spin_pause();
    } else {
      std::this_thread::yield();
    }
  }
  lock.lock();
}

void EndpointLock::sleep(Lock& lock, Nanos until) {
  sleeping_ = true;
  lock.unlock();
  datapath_.wait(until);
  lock.lock();
  sleeping_ = false;
  if (callers_back_ == 0) return;
  awake_.notify_all();
  awake_.wait(lock, [this] { return callers_back_ == 0; });
}

}  // namespace heddle::engine
