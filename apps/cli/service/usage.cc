// Usage: see usage.h.
#include "apps/cli/service/usage.h"

#include <sys/resource.h>

namespace heddle::cli {

Nanos cpu_time_used() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto span = [](const timeval& time) { return seconds(time.tv_sec) + micros(time.tv_usec); };
  return span(usage.ru_utime) + span(usage.ru_stime);
}

}  // namespace heddle::cli
