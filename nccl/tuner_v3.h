// The tuner interface, version 3: the table that NCCL looks up as ncclTunerPlugin_v3.
#pragma once

#include <cstddef>

#include "nccl/tuner_types.h"

namespace heddle::nccl {

struct TunerV3 {
  const char* name;
  // Called for each communicator. NCCL 2.28 fails the communicator where this fails.
  Status (*init)(size_t ranks, size_t nodes, Logger logger, void** context);
  // `costs` is a dense array of `algorithms` rows of `protocols` microseconds, in spite of its
  // type; NCCL takes the least that is not negative. `channels`: 0 leaves NCCL's number.
  Status (*choose)(void* context, int function, size_t bytes, int operations, float** costs,
                   int algorithms, int protocols, int* channels);
  Status (*destroy)(void* context);
};

static_assert(sizeof(TunerV3) == 4 * sizeof(void*));
static_assert(offsetof(TunerV3, choose) == 2 * sizeof(void*));
static_assert(offsetof(TunerV3, destroy) == 3 * sizeof(void*));

}  // namespace heddle::nccl
