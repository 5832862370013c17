// Kernels for processors with AVX2 and F16C: 32 bytes at a time.
#include "collectives/reduction/kernels.h"

#if defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>

#include "collectives/reduction/make_kernels.h"

namespace heddle::collectives::reduction {
namespace {

constexpr size_t kVector = 32;

struct ConvertedHalf {
  using Vector = Lanes<uint16_t, kVector / 2>;

  static Lanes<float, kVector> widen(Vector value) { return _mm256_cvtph_ps((__m128i)value); }
  static Vector narrow(Lanes<float, kVector> value) {
    const auto half = (Vector)_mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
    return (half & 0x7fff) > 0x7c00 ? Vector{} + uint16_t{0x7e00} : half;
  }
};

struct Avx2 {
  static constexpr std::string_view kName = "avx2";
  static constexpr size_t kWidth = kVector;
  using Half = ConvertedHalf;
};

}  // namespace

const Kernels* compiled_avx2() { return &kKernels<Avx2>; }

}  // namespace heddle::collectives::reduction
#else
namespace heddle::collectives::reduction {

const Kernels* compiled_avx2() { return nullptr; }

}  // namespace heddle::collectives::reduction
#endif
