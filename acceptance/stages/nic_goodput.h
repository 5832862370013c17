// NIC goodput: of rounds of disjoint pairs over each NIC but the first, whose pairs the stage pairs
// has measured before. Private to the stage pairs.
#pragma once

#include <vector>

#include "acceptance/session.h"

namespace heddle::acceptance {

// Adds rows for each NIC, with the hosts and pairs that are slow over it, and the stage's data: of
// NICs that the topology has, beside what its links carry; of others, which may be of another
// network, beside the median, which can only warn, and nothing where no pair has a figure. Returns
// the rounds whose pairs the topology has, each over one NIC. Errors: kSystem.
Result<std::vector<std::vector<HostPair>>> measure_nics(Session& session, StageReport& report);

}  // namespace heddle::acceptance
