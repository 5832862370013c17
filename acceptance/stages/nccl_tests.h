// NCCL's own figures beside heddle's: all_reduce_perf of nccl-tests over all hosts, where they have
// GPUs and that program.
#pragma once

#include <string>
#include <vector>

#include "acceptance/stages/recorded_all_reduce.h"
#include "base/result.h"

namespace heddle::acceptance {

// Adds a row with NCCL's largest size, or with why it was not tried, and its table to the stage's
// data: the sizes of heddle's own table. Errors: kSystem.
// `bound`: the bus bandwidth that the fabric allows; 0: no limit.
Result<void> run_nccl_tests(Session& session, const std::vector<BenchSize>& own, double bound,
                            StageReport& report);

// The sizes of what all_reduce_perf prints. Public for tests.
std::vector<BenchSize> sizes_of_nccl_tests(const std::string& output);

}  // namespace heddle::acceptance
