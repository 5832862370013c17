// Clock of the drive: monotonic time, and the CPU time of the process.
#pragma once

#include <time.h>

#include "base/nanos.h"

namespace heddle::nccl {

inline Nanos read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return seconds(time.tv_sec) + nanos(time.tv_nsec);
}
inline Nanos monotonic_now() { return read_clock(CLOCK_MONOTONIC); }
inline Nanos process_cpu_time() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

// For waits that poll.
inline void sleep_for(Nanos span) {
  const timespec time{span.count / 1'000'000'000, span.count % 1'000'000'000};
  nanosleep(&time, nullptr);
}

}  // namespace heddle::nccl
