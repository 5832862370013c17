// Lanes: vectors of elements as the compiler knows them, and what kernels need of them beyond its
// operators. Every function has the instruction set as a template argument, so that code compiled
// for one never stands in for another's; for the same reason nothing of the library is used here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::collectives::reduction {

template <typename T, size_t kBytes>
struct LanesOf {
  using Type [[gnu::vector_size(kBytes)]] = T;
};
// `kBytes` of elements T, a power of two.
template <typename T, size_t kBytes>
using Lanes = typename LanesOf<T, kBytes>::Type;

// Every NaN becomes the positive quiet one.
template <typename Isa, typename Vector, typename Scalar>
inline Vector canonical(Vector value, Scalar quiet) {
  const Vector all_quiet = Vector{} + quiet;
  return value != value ? all_quiet : value;
}

// Half from and to float in integer arithmetic, for processors without instructions for it.
// `kBytes` are those of the floats.
template <typename Isa, size_t kBytes>
inline Lanes<float, kBytes> widen_half(Lanes<uint16_t, kBytes / 2> half) {
  using Bits = Lanes<uint32_t, kBytes>;
  using Signed = Lanes<int32_t, kBytes>;
  using Floats = Lanes<float, kBytes>;
  const Bits bits = __builtin_convertvector(half, Bits);
  const Bits sign = (bits & 0x8000U) << 16;
  const Bits magnitude = bits & 0x7fffU;
  const Bits normal =
      (magnitude << 13) + (magnitude >= 0x7c00U ? Bits{} + (224U << 23) : Bits{} + (112U << 23));
  const Floats small = __builtin_convertvector((Signed)magnitude, Floats) * 0x1p-24F;
  return (Floats)((magnitude < 0x0400U ? (Bits)small : normal) | sign);
}

template <typename Isa, size_t kBytes>
inline Lanes<uint16_t, kBytes / 2> narrow_half(Lanes<float, kBytes> value) {
  using Bits = Lanes<uint32_t, kBytes>;
  using Floats = Lanes<float, kBytes>;
  using Half = Lanes<uint16_t, kBytes / 2>;
  const Bits bits = (Bits)value;
  const Bits magnitude = bits & 0x7fffffffU;
  // Rounds to nearest even by the carry; what is too large carries into infinity.
  const Bits rounded = (magnitude - (112U << 23) + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
  // Adding 0.5 leaves a multiple of 2^-24 in the lowest bits, rounded by the addition.
  const Bits small = (Bits)((Floats)magnitude + 0.5F) - 0x3f000000U;
  Bits half = magnitude < (113U << 23) ? small : rounded;
  half = magnitude >= (143U << 23) ? Bits{} + 0x7c00U : half;
  half = magnitude > 0x7f800000U ? Bits{} + 0x7e00U : half | (bits >> 16 & 0x8000U);
  return __builtin_convertvector(half, Half);
}

template <typename Isa, size_t kBytes>
inline Lanes<float, kBytes> widen_bfloat(Lanes<uint16_t, kBytes / 2> value) {
  using Bits = Lanes<uint32_t, kBytes>;
  return (Lanes<float, kBytes>)(__builtin_convertvector(value, Bits) << 16);
}

// Not by the processor's own instruction where it has one: that one flushes small results to zero.
template <typename Isa, size_t kBytes>
inline Lanes<uint16_t, kBytes / 2> narrow_bfloat(Lanes<float, kBytes> value) {
  using Bits = Lanes<uint32_t, kBytes>;
  using Bfloats = Lanes<uint16_t, kBytes / 2>;
  const Bits bits = (Bits)value;
  const Bits rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  const Bits result = value != value ? Bits{} + 0x7fc0U : rounded;
  return __builtin_convertvector(result, Bfloats);
}

}  // namespace heddle::collectives::reduction
