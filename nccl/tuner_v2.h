// The tuner interface, version 2: the table that NCCL looks up as ncclTunerPlugin_v2. Read in NCCL
// 2.30.7, as are 3 to 6.
#pragma once

#include <cstddef>

#include "nccl/tuner_types.h"

namespace heddle::nccl {

struct TunerV2 {
  const char* name;
  // Called for each communicator. NCCL 2.28 fails the communicator where this fails.
  Status (*init)(size_t ranks, size_t nodes, Logger logger, void** context);
  // Whether `function` may use CollNet and NVLS is all that this version passes. Written: all of
  // `algorithm` and `protocol` or neither; `channels`, 0 leaves NCCL's number.
  Status (*choose)(void* context, int function, size_t bytes, int collnet, int nvls, int operations,
                   int* algorithm, int* protocol, int* channels);
  Status (*destroy)(void* context);
};

static_assert(sizeof(TunerV2) == 4 * sizeof(void*));
static_assert(offsetof(TunerV2, choose) == 2 * sizeof(void*));
static_assert(offsetof(TunerV2, destroy) == 3 * sizeof(void*));

}  // namespace heddle::nccl
