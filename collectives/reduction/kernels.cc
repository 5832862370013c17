// Kernels: see kernels.h. Here is asked what the processor can do.
#include "collectives/reduction/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace heddle::collectives::reduction {
namespace {

#if defined(__x86_64__)
// The conversions between half and float have a bit of their own.
bool has_f16c() {
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

// These ask whether the system saves the registers, too.
bool has_avx2() { return __builtin_cpu_supports("avx2") && has_f16c(); }

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#else
bool has_avx2() { return false; }
bool has_avx512() { return false; }
#endif

}  // namespace

const Kernels* kernels_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::kAvx512:
      return has_avx512() ? compiled_avx512() : nullptr;
    case InstructionSet::kAvx2:
      return has_avx2() ? compiled_avx2() : nullptr;
    case InstructionSet::kBaseline:
      break;
  }
  return compiled_baseline();
}

const Kernels& best_kernels() {
  for (const InstructionSet set : kInstructionSets) {
    if (const Kernels* kernels = kernels_of(set)) return *kernels;
  }
  check_failed(__FILE__, __LINE__, "there is always the baseline");
}

}  // namespace heddle::collectives::reduction
