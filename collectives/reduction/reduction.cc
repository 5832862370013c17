// Reduction: see reduction.h.
#include "collectives/reduction.h"

#include "base/check.h"
#include "collectives/reduction/kernels.h"

namespace heddle::collectives {
namespace {

const reduction::Kernels& chosen() {
  static const reduction::Kernels& kernels = reduction::best_kernels();
  return kernels;
}

}  // namespace

void reduce(DataType type, ReduceOp op, void* destination, Operands from, size_t elements) {
  chosen().reduce_of(type, op)(destination, from.a, from.b, elements);
}

void scale(DataType type, void* destination, size_t elements, uint32_t divisor) {
  CHECK(divisor >= 1 && divisor <= kMostDivisor);
  chosen().scale_of(type)(destination, elements, divisor);
}

}  // namespace heddle::collectives
