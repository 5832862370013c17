// Kernels for every processor of the kind that this was built for: 16 bytes at a time.
#include "collectives/reduction/make_kernels.h"

namespace heddle::collectives::reduction {
namespace {

struct Baseline {
  static constexpr std::string_view kName = "baseline";
  static constexpr size_t kWidth = 16;

  static Lanes<float, kWidth> widen_half(Lanes<uint16_t, kWidth / 2> value) {
    return reduction::widen_half<Baseline, kWidth>(value);
  }
  static Lanes<uint16_t, kWidth / 2> narrow_half(Lanes<float, kWidth> value) {
    return reduction::narrow_half<Baseline, kWidth>(value);
  }
};

}  // namespace

const Kernels* compiled_baseline() { return &kKernels<Baseline>; }

}  // namespace heddle::collectives::reduction
