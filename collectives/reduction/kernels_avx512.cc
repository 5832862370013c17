// Kernels for processors with AVX-512 (F, BW, DQ, VL): 64 bytes at a time.
#include "collectives/reduction/kernels.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include <immintrin.h>

#include "collectives/reduction/make_kernels.h"

namespace heddle::collectives::reduction {
namespace {

struct Avx512 {
  static constexpr std::string_view kName = "avx512";
  static constexpr size_t kWidth = 64;
  // The forms without a mask leave a register open, which GCC 12 warns about.
  static constexpr __mmask16 kAll = 0xffff;

  static Lanes<float, kWidth> widen_half(Lanes<uint16_t, kWidth / 2> value) {
    return _mm512_maskz_cvtph_ps(kAll, (__m256i)value);
  }
  static Lanes<uint16_t, kWidth / 2> narrow_half(Lanes<float, kWidth> value) {
    const auto half =
        (Lanes<uint16_t, kWidth / 2>)_mm512_maskz_cvtps_ph(kAll, value, _MM_FROUND_TO_NEAREST_INT);
    const Lanes<uint16_t, kWidth / 2> quiet = Lanes<uint16_t, kWidth / 2>{} + uint16_t{0x7e00};
    return (half & 0x7fff) > 0x7c00 ? quiet : half;
  }
};

}  // namespace

const Kernels* compiled_avx512() { return &kKernels<Avx512>; }

}  // namespace heddle::collectives::reduction
#else
namespace heddle::collectives::reduction {

const Kernels* compiled_avx512() { return nullptr; }

}  // namespace heddle::collectives::reduction
#endif
