// JobShape: how a training job is spread over GPUs, and where these are. Ranks are numbered as
// Megatron-LM numbers them: tensor parallel ranks are neighbors, then context, then data, then
// pipeline; expert parallel groups are part of the data and context parallel ones.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "planner/model_shape.h"

namespace heddle::planner {

struct JobShape {
  uint64_t gpus = 0;  // 0: the product of the sizes below
  uint64_t gpus_per_node = 8;
  uint64_t tensor = 1;
  uint64_t context = 1;
  uint64_t data = 0;  // 0: what is left of the GPUs
  uint64_t pipeline = 1;
  uint64_t expert = 1;
  uint64_t sites = 1;   // that share the data parallel ranks; a replica is within one
  uint64_t chunks = 1;  // of layers on a pipeline stage; above 1 the schedule is interleaved
  uint64_t zero_stage = 0;
  bool sequence_parallel = false;
  bool recompute = false;       // all activations, in the backward pass
  uint64_t batch = 0;           // sequences in a step; 0: `data` x `microbatch`
  uint64_t microbatch = 1;      // sequences
  uint64_t sequence = 8'192;    // tokens
  uint64_t gradient_bytes = 4;  // of one
  uint64_t parameter_bytes = 2;
  uint64_t activation_bytes = 2;

  // Filled by resolve().
  uint64_t microbatches = 1;  // in a step, on each data parallel replica
};

// The job with all that follows from what was given. Errors: kInvalid for sizes that do not divide:
// what is wrong, and which values would be right.
Result<JobShape> resolve(const JobShape& job, const ModelShape& model);

// A group of ranks whose numbers differ by `stride`, on nodes of `gpus_per_node`.
struct GroupPlace {
  uint64_t ranks = 1;
  uint64_t in_node = 1;  // ranks of the group on one node
  uint64_t nodes = 1;    // of all sites
  uint64_t sites = 1;
};
// CHECKs nothing: where a node's GPUs do not divide among groups, the group counts as spread.
GroupPlace place_group(uint64_t ranks, uint64_t stride, uint64_t gpus_per_node);
// Of a group with the same number of ranks in each site.
GroupPlace place_in_sites(uint64_t ranks, uint64_t stride, uint64_t gpus_per_node, uint64_t sites);

}  // namespace heddle::planner
