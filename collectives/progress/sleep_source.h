// SleepSource: on what threads of this process sleep, as the wait detector asks. KernelSleepSource
// reads it from the kernel, from outside: the threads do nothing for it and are not disturbed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "base/descriptor.h"
#include "collectives/pending_call.h"

namespace heddle::collectives {

// As gettid(2).
using ThreadId = int32_t;
ThreadId calling_thread();

class SleepSource {
 public:
  virtual ~SleepSource() = default;
  // Whether the thread sleeps at this moment on a condition variable or lock inside such an object.
  virtual bool sleeps_on(ThreadId thread, const AwaitedObject& object) = 0;
  // The thread is not asked about for now.
  virtual void forget(ThreadId thread) = 0;
};

// About 1 us a thread, 2 us if it sleeps on a futex. A thread that runs, waits for a core, sleeps
// elsewhere or has ended sleeps on no object; neither does any where the system has no
// /proc/PID/syscall (proc(5)).
class KernelSleepSource final : public SleepSource {
 public:
  bool sleeps_on(ThreadId thread, const AwaitedObject& object) override;
  void forget(ThreadId thread) override { threads_.erase(thread); }

 private:
  // The address of the futex(2) word on which it sleeps; 0: none.
  uintptr_t futex_of(ThreadId thread);
  // Words of this process's memory, which may not be there: other threads free it meanwhile.
  bool read_words(uintptr_t address, std::span<uintptr_t> words);

  std::map<ThreadId, Descriptor> threads_;  // open, so that a thread's number can be reused
  Descriptor memory_;
};

}  // namespace heddle::collectives
