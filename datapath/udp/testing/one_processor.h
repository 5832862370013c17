// OneProcessor: for tests: keeps the calling thread on one processor. Behind a queue, loopback goes
// on by whichever processor is there, and two of them reorder what one sender sent.
#pragma once

#include <sched.h>

namespace heddle::datapath {

class OneProcessor {
 public:
  OneProcessor() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof before_, &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace heddle::datapath
