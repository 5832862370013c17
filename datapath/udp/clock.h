// The clock of the UDP datapath: CLOCK_MONOTONIC, read without a system call (about 25 ns).
#pragma once

#include "base/nanos.h"

namespace heddle::datapath {

Nanos monotonic_now();

}  // namespace heddle::datapath
