// CPU time that this process has used so far, in its own code and in system calls made for it.
#pragma once

#include "base/nanos.h"

namespace heddle::measure {

Nanos cpu_time_used();

}  // namespace heddle::measure
