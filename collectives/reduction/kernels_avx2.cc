// Kernels for processors with AVX2 and F16C: 32 bytes at a time.
#include "collectives/reduction/kernels.h"

#if defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>

#include "collectives/reduction/make_kernels.h"

namespace heddle::collectives::reduction {
namespace {

struct Avx2 {
  static constexpr std::string_view kName = "avx2";
  static constexpr size_t kWidth = 32;

  static Lanes<float, kWidth> widen_half(Lanes<uint16_t, kWidth / 2> value) {
    return _mm256_cvtph_ps((__m128i)value);
  }
  static Lanes<uint16_t, kWidth / 2> narrow_half(Lanes<float, kWidth> value) {
    const auto half =
        (Lanes<uint16_t, kWidth / 2>)_mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
    const Lanes<uint16_t, kWidth / 2> quiet = Lanes<uint16_t, kWidth / 2>{} + uint16_t{0x7e00};
    return (half & 0x7fff) > 0x7c00 ? quiet : half;
  }
};

}  // namespace

const Kernels* compiled_avx2() { return &kKernels<Avx2>; }

}  // namespace heddle::collectives::reduction
#else
namespace heddle::collectives::reduction {

const Kernels* compiled_avx2() { return nullptr; }

}  // namespace heddle::collectives::reduction
#endif
