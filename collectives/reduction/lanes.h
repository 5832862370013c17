// Lanes: the compiler's vectors of elements, and the operations that kernels need beyond its
// operators. Every function has the instruction set as a template argument, so that the linker
// never merges code compiled for different sets; for the same reason no library function is used.
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

// Two vectors of floats: the elements of 16 bits at even and at odd places of a vector. Taking them
// apart so needs only masks and shifts, where widening in order would move elements between lanes.
template <typename Isa>
struct FloatPair {
  Lanes<float, Isa::kWidth> even;
  Lanes<float, Isa::kWidth> odd;

  friend FloatPair operator+(FloatPair a, FloatPair b) { return {a.even + b.even, a.odd + b.odd}; }
  friend FloatPair operator*(FloatPair a, FloatPair b) { return {a.even * b.even, a.odd * b.odd}; }
  friend FloatPair operator/(FloatPair a, float b) { return {a.even / b, a.odd / b}; }
};

// Half from and to float in integer arithmetic, for processors without instructions for it. The
// bits of halves are in lanes of 32 bits.
template <typename Isa>
struct SplitHalf {
  using Vector = Lanes<uint32_t, Isa::kWidth>;
  using Floats = Lanes<float, Isa::kWidth>;
  using Signed = Lanes<int32_t, Isa::kWidth>;

  static FloatPair<Isa> widen(Vector value) {
    return {widen_one(value & 0xffffU), widen_one(value >> 16)};
  }
  static Vector narrow(FloatPair<Isa> value) {
    return narrow_one(value.even) | narrow_one(value.odd) << 16;
  }

  static Floats widen_one(Vector half) {
    const Vector sign = (half & 0x8000U) << 16;
    const Vector magnitude = half & 0x7fffU;
    const auto order = (Signed)magnitude;  // compared faster, and never negative
    const Vector exponent = order >= 0x7c00 ? Vector{} + (224U << 23) : Vector{} + (112U << 23);
    const Vector normal = (magnitude << 13) + exponent;
    const Floats small = __builtin_convertvector(order, Floats) * 0x1p-24F;
    return (Floats)((order < 0x0400 ? (Vector)small : normal) | sign);
  }

  static Vector narrow_one(Floats value) {
    const Vector bits = (Vector)value;
    const Vector magnitude = bits & 0x7fffffffU;
    const auto order = (Signed)magnitude;
    // Rounds to nearest even by the carry; what is too large carries into infinity.
    const Vector rounded = (magnitude - (112U << 23) + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
    // Adding 0.5 leaves a multiple of 2^-24 in the lowest bits, rounded by the addition.
    const Vector small = (Vector)((Floats)magnitude + 0.5F) - 0x3f000000U;
    Vector half = order < (113 << 23) ? small : rounded;
    half = order >= (143 << 23) ? Vector{} + 0x7c00U : half;
    return order > 0x7f800000 ? Vector{} + 0x7e00U : half | (bits >> 16 & 0x8000U);
  }
};

// bfloat16 is the upper half of a float. Not narrowed by the processor's own instruction where it
// has one: that one flushes small results to zero.
template <typename Isa>
struct SplitBfloat {
  using Vector = Lanes<uint32_t, Isa::kWidth>;
  using Floats = Lanes<float, Isa::kWidth>;

  static FloatPair<Isa> widen(Vector value) {
    return {(Floats)(value << 16), (Floats)(value & 0xffff0000U)};
  }
  static Vector narrow(FloatPair<Isa> value) {
    return rounded(value.even) >> 16 | (rounded(value.odd) & 0xffff0000U);
  }

  // The bits of a float whose upper half is the result.
  static Vector rounded(Floats value) {
    const Vector bits = (Vector)value;
    return value != value ? Vector{} + 0x7fc00000U : bits + 0x7fffU + (bits >> 16 & 1U);
  }
};

}  // namespace heddle::collectives::reduction
