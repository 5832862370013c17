// Kernels: one function for each type and operation, in one table for each instruction set. Which
// table this processor can use is found out once; tests and benchmarks ask for each by name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "collectives/data_type.h"

namespace heddle::collectives::reduction {

using ReduceKernel = void (*)(void* destination, const void* a, const void* b, size_t elements);
using ScaleKernel = void (*)(void* destination, size_t elements, uint32_t divisor);

// In the order of preference.
enum class InstructionSet : uint8_t { kAvx512, kAvx2, kBaseline };
inline constexpr std::array kInstructionSets = {InstructionSet::kAvx512, InstructionSet::kAvx2,
                                                InstructionSet::kBaseline};

struct Kernels {
  std::string_view name;
  // By data type, then sum, product, min, max.
  std::array<std::array<ReduceKernel, 4>, kDataTypes> reduce;
  std::array<ScaleKernel, kDataTypes> scale;

  ReduceKernel reduce_of(DataType type, ReduceOp op) const {
    if (op == ReduceOp::kAverage) op = ReduceOp::kSum;
    CHECK(static_cast<size_t>(type) < kDataTypes && static_cast<size_t>(op) < 4);
    return reduce[static_cast<size_t>(type)][static_cast<size_t>(op)];
  }
  ScaleKernel scale_of(DataType type) const {
    CHECK(static_cast<size_t>(type) < kDataTypes);
    return scale[static_cast<size_t>(type)];
  }
};

// Null where this processor lacks the instructions, or the build is for another kind of processor.
const Kernels* kernels_of(InstructionSet set);
const Kernels& best_kernels();

// What the files of the instruction sets hold; null as above, without a look at the processor.
const Kernels* compiled_baseline();
const Kernels* compiled_avx2();
const Kernels* compiled_avx512();

}  // namespace heddle::collectives::reduction
