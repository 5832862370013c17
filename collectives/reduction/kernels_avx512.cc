// Kernels for processors with AVX-512 (F, BW, DQ, VL): 64 bytes at a time.
#include "collectives/reduction/kernels.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include <immintrin.h>

#include "collectives/reduction/make_kernels.h"

namespace heddle::collectives::reduction {
namespace {

constexpr size_t kVector = 64;

struct ConvertedHalf {
  using Vector = Lanes<uint16_t, kVector / 2>;
  // The forms without a mask leave a register open, which GCC 12 warns about.
  static constexpr __mmask16 kAll = 0xffff;

  static Lanes<float, kVector> widen(Vector value) {
    return _mm512_maskz_cvtph_ps(kAll, (__m256i)value);
  }
  static Vector narrow(Lanes<float, kVector> value) {
    const auto half = (Vector)_mm512_maskz_cvtps_ph(kAll, value, _MM_FROUND_TO_NEAREST_INT);
    return (half & 0x7fff) > 0x7c00 ? Vector{} + uint16_t{0x7e00} : half;
  }
};

struct Avx512 {
  static constexpr std::string_view kName = "avx512";
  static constexpr size_t kWidth = kVector;
  using Half = ConvertedHalf;
};

}  // namespace

const Kernels* compiled_avx512() { return &kKernels<Avx512>; }

}  // namespace heddle::collectives::reduction
#else
namespace heddle::collectives::reduction {

const Kernels* compiled_avx512() { return nullptr; }

}  // namespace heddle::collectives::reduction
#endif
