// NIC reach: every host to every host over each NIC but the first, whose pairs the stage reach has
// tested before, and the MTU of its path. Private to the stage reach.
#pragma once

#include "acceptance/session.h"

namespace heddle::acceptance {

// Adds rows for each NIC, and those of the hosts and pairs that are not reached over one, or whose
// packets are smaller than the MTU of their route in the topology, or without one than the MTU of
// the two NICs; and one for each NIC that hosts lack, for information. A NIC that the topology does
// not have, as one for management, over which no pair is reached, or none with full packets, is a
// warning. Errors: kSystem.
Result<void> reach_nics(Session& session, StageReport& report);

}  // namespace heddle::acceptance
