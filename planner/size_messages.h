// Messages: the units into which the gradients of a step are cut, from a bucket of the framework to
// the packets of the NIC, and which tool measures which.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "planner/answer.h"

namespace heddle::planner {

// Defaults are PyTorch's and NCCL's (protocol Simple, which large all-reduces use).
struct MessagesQuestion {
  double bucket_bytes = 25 << 20;
  uint64_t gpus = 16;                  // in one ring
  double channels = 8;                 // that NCCL uses side by side
  double nccl_buffer_bytes = 4 << 20;  // NCCL_BUFFSIZE
  double queue_pairs = 1;              // NCCL_IB_QPS_PER_CONNECTION
  bool splits = false;                 // NCCL_IB_SPLIT_DATA_ON_QPS
  double mtu_bytes = 4'096;            // payload of a full packet
  double header_bytes = 82;            // of a packet on the wire, beside it
};

// Errors: kInvalid for values that cannot be.
Result<Answer> size_messages(const MessagesQuestion& question);

}  // namespace heddle::planner
