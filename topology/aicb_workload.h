// AICB's workload text, which SimAI simulates (github.com/aliyun/aicb): a header with the
// parallelism, the number of layers, and a row for each layer with the computation and the
// collective of its forward pass, input gradient and weight gradient.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/foreign_job.h"

namespace heddle::topology {

// One iteration as SimAI executes it: forward through all rows, then backward; forward and input
// gradient wait for their collectives, those of weight gradients continue until the end. Groups are
// Megatron's: tensor parallel ranks are neighbors, then expert parallel, then data parallel ones.
// Of a pipeline one stage is simulated. `name` is the file's name in errors. Errors: kInvalid with
// file and line.
Result<ForeignJob> parse_aicb_workload(std::string_view text, const std::string& name,
                                       const ForeignOptions& options);

}  // namespace heddle::topology
