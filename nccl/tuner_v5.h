// The tuner interface, version 5: the table that NCCL looks up as ncclTunerPlugin_v5. NCCL 2.28.9
// looks for it first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl/tuner_types.h"

namespace heddle::nccl {

struct TunerV5 {
  const char* name;
  // Called for each communicator, before NCCL computes its model from `constants`.
  Status (*init)(void** context, uint64_t communicator, size_t ranks, size_t nodes, Logger logger,
                 TunerNvlDomains* domains, TunerConstants<4>* constants);
  // As in version 4.
  Status (*choose)(void* context, int function, size_t bytes, int operations, float** costs,
                   int algorithms, int protocols, int registered, int* channels);
  // `context` is what init() wrote, also null.
  Status (*finalize)(void* context);
};

static_assert(sizeof(TunerV5) == 4 * sizeof(void*));
static_assert(offsetof(TunerV5, choose) == 2 * sizeof(void*));
static_assert(offsetof(TunerV5, finalize) == 3 * sizeof(void*));

}  // namespace heddle::nccl
