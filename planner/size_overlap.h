// Overlap: whether the all-reduces of buckets of gradients fit beside the backward pass that
// produces these gradients (data parallel training, one GPU and one NIC a rank), and what remains.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "planner/answer.h"
#include "planner/model_shape.h"

namespace heddle::planner {

struct OverlapQuestion {
  uint64_t gpus = 16;
  double link_bits_per_s = 100e9;  // of a GPU's NIC, in one direction
  double bucket_bytes = 25 << 20;  // of gradients that one all-reduce combines
  double gradient_bytes = 4;       // of one
  double forward_s = -1;           // below 0: half of `backward_s`
  double backward_s = 0;           // of a whole step, alone
  double chunk_bytes = 256 << 10;  // pieces of a bucket that are forwarded by themselves
  double step_s = 10e-6;           // from the end of a chunk's transmission to that of its result
  double mtu_bytes = 4'096;        // payload of a full packet
  double header_bytes = 82;        // of a packet on the wire, beside it
};

// Errors: kInvalid for values that cannot be.
Result<Answer> size_overlap(const ModelShape& model, const OverlapQuestion& question);

}  // namespace heddle::planner
