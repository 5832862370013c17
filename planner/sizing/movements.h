// Terms of a job that several of its movements share.
#pragma once

#include "planner/job_shape.h"
#include "planner/model_shape.h"
#include "planner/size_traffic.h"

namespace heddle::planner {

// Adds what data parallel ranks exchange: DDP, or ZeRO stages 1 to 3.
void add_data_movements(const ModelShape& model, const JobShape& job, std::vector<Movement>& all);
// Adds what ranks exchange of activations, layer by layer.
void add_layer_movements(const ModelShape& model, const JobShape& job, std::vector<Movement>& all);

// Of these, those that a GPU waits for: a stage sends while it computes the next microbatch.
std::vector<Movement> awaited_movements(const ModelShape& model, const JobShape& job);

}  // namespace heddle::planner
