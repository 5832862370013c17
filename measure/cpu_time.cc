// Usage: see usage.h.
#include "measure/cpu_time.h"

#include <sys/resource.h>

namespace heddle::measure {

Nanos cpu_time_used() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto span = [](const timeval& time) { return seconds(time.tv_sec) + micros(time.tv_usec); };
  return span(usage.ru_utime) + span(usage.ru_stime);
}

}  // namespace heddle::measure
