// Forwarder: the process that holds the frames of delayed links for their propagation time on
// kernels without netem. It runs in the middle namespace of the cut links (delays.h) and ends with
// the lab.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "lab/layout.h"

namespace heddle::lab {

// Starts it for all delayed links of a lab whose namespaces and cables exist. `owned`: it ends with
// this process. Returns its process id once it forwards frames. Errors: kPermission, kSystem.
Result<pid_t> start_forwarder(const Layout& layout, bool owned);

}  // namespace heddle::lab
