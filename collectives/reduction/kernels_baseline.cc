// Kernels for every processor of the kind that this was built for: 16 bytes at a time.
#include "collectives/reduction/make_kernels.h"

namespace heddle::collectives::reduction {
namespace {

struct Baseline {
  static constexpr std::string_view kName = "baseline";
  static constexpr size_t kWidth = 16;
  using Half = SplitHalf<Baseline>;
};

}  // namespace

const Kernels* compiled_baseline() { return &kKernels<Baseline>; }

}  // namespace heddle::collectives::reduction
