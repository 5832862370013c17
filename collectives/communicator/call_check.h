// Whether a call makes sense on this rank, before anything of it is sent.
#pragma once

#include "base/result.h"
#include "collectives/call.h"
#include "collectives/members.h"

namespace heddle::collectives {

// Errors: kInvalid for a root that is no rank, an algorithm that it does not have, missing or
// overlapping buffers, sizes beyond what can be counted, counts that are not one a rank.
Result<void> check_call(const Call& call, const Members& members);

}  // namespace heddle::collectives
