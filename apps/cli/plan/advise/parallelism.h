// Other splits of a job's ranks into tensor, pipeline and data parallel ones, by the closed form of
// `heddle size cluster`.
#pragma once

#include <vector>

#include "apps/cli/plan/advise/candidates.h"
#include "base/result.h"

namespace heddle::cli {

// The best few that are faster than the job's own split. Errors: no such model or GPU; kInvalid for
// an own split that the ranks or the model do not divide into.
Result<std::vector<Candidate>> parallelism_candidates(const RecordedSetting& setting,
                                                      const ModelQuestion& question);

}  // namespace heddle::cli
