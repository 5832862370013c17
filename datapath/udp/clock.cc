// See clock.h.
#include "datapath/udp/clock.h"

#include <time.h>

namespace heddle::datapath {

Nanos monotonic_now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return seconds(time.tv_sec) + nanos(time.tv_nsec);
}

}  // namespace heddle::datapath
