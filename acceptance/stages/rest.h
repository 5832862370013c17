// The stage rest: after a failure, the hosts and links that failed are left out, and what is left
// is tested on its own. acceptance.cc runs it behind the others.
#pragma once

#include "acceptance/acceptance.h"
#include "acceptance/good_group.h"
#include "acceptance/report.h"
#include "base/result.h"

namespace heddle::acceptance {

// Of a group of two hosts or more: adds a row for what is left out, one for the group, and those of
// the stages reach, pairs and collectives on the group. `fabric` must have no session. Errors: as
// run_acceptance().
Result<void> run_rest(const Fabric& fabric, const AcceptanceOptions& options,
                      const GoodGroup& group, StageReport& report);

}  // namespace heddle::acceptance
