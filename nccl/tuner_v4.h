// The tuner interface, version 4: the table that NCCL looks up as ncclTunerPlugin_v4.
#pragma once

#include <cstddef>

#include "nccl/tuner_types.h"

namespace heddle::nccl {

struct TunerV4 {
  const char* name;
  // Called for each communicator. NCCL 2.28 fails the communicator where this fails.
  Status (*init)(size_t ranks, size_t nodes, Logger logger, void** context);
  // As in version 3. `registered`: whether the user's buffers can be registered.
  Status (*choose)(void* context, int function, size_t bytes, int operations, float** costs,
                   int algorithms, int protocols, int registered, int* channels);
  Status (*destroy)(void* context);
};

static_assert(sizeof(TunerV4) == 4 * sizeof(void*));
static_assert(offsetof(TunerV4, choose) == 2 * sizeof(void*));
static_assert(offsetof(TunerV4, destroy) == 3 * sizeof(void*));

}  // namespace heddle::nccl
