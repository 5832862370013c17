// The tuner interface, version 7: the table that NCCL looks up as ncclTunerPlugin_v7. Read in the
// headers of later versions than 2.30.7.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl/tuner_types.h"

namespace heddle::nccl {

struct TunerV7 {
  const char* name;
  // Called for each communicator, before NCCL computes its model from `constants`.
  Status (*init)(void** context, uint64_t communicator, size_t ranks, size_t nodes, Logger logger,
                 TunerNvlDomains* domains, TunerConstants<5>* constants);
  // As in version 4.
  Status (*choose)(void* context, int function, size_t bytes, int operations, float** costs,
                   int algorithms, int protocols, int registered, int* channels);
  // `context` is what init() wrote, also null.
  Status (*finalize)(void* context);
  // May be null. `chunk` is NCCL's size in bytes; NCCL clamps what is written to its buffers and
  // rounds it down to the protocol's grain. A collective is asked about in parts, with the bytes
  // and channels of a part.
  Status (*choose_chunk)(void* context, int function, size_t bytes, int algorithm, int protocol,
                         int channels, size_t* chunk);
};

static_assert(sizeof(TunerV7) == 5 * sizeof(void*));
static_assert(offsetof(TunerV7, choose) == 2 * sizeof(void*));
static_assert(offsetof(TunerV7, choose_chunk) == 4 * sizeof(void*));

}  // namespace heddle::nccl
