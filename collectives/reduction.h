// Reduction: combines elements of two buffers into a third, with the widest instructions that this
// processor has. Every processor gives the same bits.
//   Integers wrap. Floating-point results are rounded once, to nearest even; half and bfloat16 are
//   computed in float. A result that is not a number has one bit pattern, the positive quiet one.
//   Minimum and maximum are those of IEEE 754-2019: what is not a number wins, and -0 < +0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/data_type.h"

namespace heddle::collectives {

struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
};

// destination[i] = a[i] op b[i]. `destination` is `a`, `b`, or overlaps neither; no alignment is
// asked for. kAverage sums: scale() divides in the end.
void reduce(DataType type, ReduceOp op, void* destination, Operands from, size_t elements);

inline constexpr uint32_t kMostDivisor = 1U << 24;

// Divides each element by 1 to kMostDivisor; integers are rounded towards zero.
void scale(DataType type, void* destination, size_t elements, uint32_t divisor);

}  // namespace heddle::collectives
