// Forwarder: the process that holds the frames of delayed links for their propagation time, where
// the kernel has no netem. It lives in the namespace between the halves of the cut links (delays.h)
// and goes with the lab.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "lab/layout.h"

namespace heddle::lab {

// Starts it for all delayed links of a lab whose namespaces and cables are there; `owned`: it ends
// when this process does. Returns its process once it passes frames on. Errors: kPermission,
// kSystem.
Result<pid_t> start_forwarder(const Layout& layout, bool owned);

}  // namespace heddle::lab
