// CPU time that this process has used so far, in its own code and in system calls made for it.
#pragma once

#include "base/nanos.h"

namespace heddle::cli {

Nanos cpu_time_used();

}  // namespace heddle::cli
