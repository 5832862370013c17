// The stage rest: after a failure, the hosts and links that failed are left out, and what is left
// is tested on its own. acceptance.cc runs it behind the others.
#pragma once

#include <vector>

#include "acceptance/acceptance.h"
#include "acceptance/good_group.h"
#include "acceptance/report.h"
#include "base/result.h"

namespace heddle::acceptance {

// A row for each pair of the data of a stage that was not reached or was too slow: of many only
// some have a row of their own. Throws Json::exception for data that no stage made.
std::vector<Row> failed_pairs(const StageReport& stage);

// Of the good group of `rows`, which has two hosts or more, or of a smaller one where its test
// names more (prove_group): adds a row for what is left out, one for the group, and those of the
// stages reach, pairs and collectives on the group. `fabric` must have no session. An interrupted
// one adds no rows and tests no other group. Errors: as run_acceptance().
Result<void> run_rest(const Fabric& fabric, const AcceptanceOptions& options,
                      const std::vector<Row>& rows, StageReport& report);

}  // namespace heddle::acceptance
