// Extents: how many bytes of its buffers a call may read and write on a rank.
#pragma once

#include <cstdint>

#include "collectives/call.h"

namespace heddle::collectives {

// 0 where the rank has no input, or none is read.
uint64_t input_bytes(const Call& call, uint32_t size, uint32_t rank);
uint64_t output_bytes(const Call& call, uint32_t size, uint32_t rank);

}  // namespace heddle::collectives
