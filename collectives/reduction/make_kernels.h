// Making the kernels of an instruction set. Isa gives `kName`, `kWidth` (bytes of a vector) and
// `Half`, how halves become floats and back; each file kernels_*.cc has one and makes its table.
// A *step* is an operation on one vector; a kernel is a loop of steps.
#pragma once

#include "collectives/reduction/kernels.h"
#include "collectives/reduction/lanes.h"

namespace heddle::collectives::reduction {

enum class Fold : uint8_t { kSum, kProduct, kMin, kMax };

template <typename T>
struct UnsignedOf;
template <>
struct UnsignedOf<int8_t> {
  using Type = uint8_t;
};
template <>
struct UnsignedOf<int16_t> {
  using Type = uint16_t;
};
template <>
struct UnsignedOf<int32_t> {
  using Type = uint32_t;
};
template <>
struct UnsignedOf<int64_t> {
  using Type = uint64_t;
};
template <>
struct UnsignedOf<uint8_t> : UnsignedOf<int8_t> {};
template <>
struct UnsignedOf<uint16_t> : UnsignedOf<int16_t> {};
template <>
struct UnsignedOf<uint32_t> : UnsignedOf<int32_t> {};
template <>
struct UnsignedOf<uint64_t> : UnsignedOf<int64_t> {};

// --- steps ---

template <typename Isa, typename T, Fold kFold>
struct IntegerStep {
  using Vector = Lanes<T, Isa::kWidth>;
  using Wrapping = Lanes<typename UnsignedOf<T>::Type, Isa::kWidth>;
  static constexpr size_t kElementBytes = sizeof(T);

  static Vector apply(Vector a, Vector b) {
    if constexpr (kFold == Fold::kSum) return (Vector)((Wrapping)a + (Wrapping)b);
    if constexpr (kFold == Fold::kProduct) return (Vector)((Wrapping)a * (Wrapping)b);
    if constexpr (kFold == Fold::kMin) return a < b ? a : b;
    if constexpr (kFold == Fold::kMax) return a > b ? a : b;
  }
};

template <typename Isa, typename T, Fold kFold>
struct FloatStep {
  using Vector = Lanes<T, Isa::kWidth>;
  static constexpr size_t kElementBytes = sizeof(T);

  static Vector apply(Vector a, Vector b) {
    constexpr T kQuiet = static_cast<T>(__builtin_nan(""));
    if constexpr (kFold == Fold::kSum) return canonical<Isa>(a + b, kQuiet);
    if constexpr (kFold == Fold::kProduct) return canonical<Isa>(a * b, kQuiet);
  }
};

// Of a format of 16 bits, as SplitBfloat: computed in float, rounded once.
template <typename Format, Fold kFold>
struct ShortFloatStep {
  using Vector = typename Format::Vector;
  static constexpr size_t kElementBytes = 2;

  static Vector apply(Vector a, Vector b) {
    if constexpr (kFold == Fold::kSum) return Format::narrow(Format::widen(a) + Format::widen(b));
    if constexpr (kFold == Fold::kProduct) {
      return Format::narrow(Format::widen(a) * Format::widen(b));
    }
  }
};

// Minimum and maximum of floating-point numbers from their bits: signed integers whose lower bits
// are turned over where the sign is set have the same order. `kInfinity` is the largest number's
// pattern, `kQuiet` what stands for every NaN.
template <typename Isa, typename Bits, Bits kInfinity, Bits kQuiet, Fold kFold>
struct OrderStep {
  using Vector = Lanes<Bits, Isa::kWidth>;
  static constexpr size_t kElementBytes = sizeof(Bits);
  static constexpr Bits kMagnitude = static_cast<Bits>(
      static_cast<typename UnsignedOf<Bits>::Type>(~typename UnsignedOf<Bits>::Type{}) >> 1);

  static Vector rank(Vector value) {
    return value ^ ((value >> (8 * static_cast<Bits>(sizeof(Bits)) - 1)) & kMagnitude);
  }

  static Vector apply(Vector a, Vector b) {
    const Vector quiet = Vector{} + kQuiet;
    const auto a_first = rank(a) < rank(b);
    const Vector chosen = kFold == Fold::kMin ? (a_first ? a : b) : (a_first ? b : a);
    const auto is_nan = ((a & kMagnitude) > kInfinity) | ((b & kMagnitude) > kInfinity);
    return is_nan ? quiet : chosen;
  }
};

// --- loops ---

// `Step` over all elements; what is left at the end goes through vectors that are filled up.
template <typename Isa, typename Step>
void reduce_loop(void* destination, const void* a, const void* b, size_t elements) {
  using Vector = typename Step::Vector;
  auto* const to = static_cast<unsigned char*>(destination);
  const auto* const from_a = static_cast<const unsigned char*>(a);
  const auto* const from_b = static_cast<const unsigned char*>(b);
  const size_t bytes = elements * Step::kElementBytes;
  size_t at = 0;
  for (; at + sizeof(Vector) <= bytes; at += sizeof(Vector)) {
    Vector x;
    Vector y;
    __builtin_memcpy(&x, from_a + at, sizeof(Vector));
    __builtin_memcpy(&y, from_b + at, sizeof(Vector));
    const Vector result = Step::apply(x, y);
    __builtin_memcpy(to + at, &result, sizeof(Vector));
  }
  if (at == bytes) return;
  Vector x{};
  Vector y{};
  __builtin_memcpy(&x, from_a + at, bytes - at);
  __builtin_memcpy(&y, from_b + at, bytes - at);
  const Vector result = Step::apply(x, y);
  __builtin_memcpy(to + at, &result, bytes - at);
}

template <typename Isa, typename T>
void scale_integers(void* destination, size_t elements, uint32_t divisor) {
  auto* const to = static_cast<unsigned char*>(destination);
  for (size_t at = 0; at < elements; ++at) {
    T value;
    __builtin_memcpy(&value, to + at * sizeof(T), sizeof(T));
    if constexpr (static_cast<T>(-1) < T{}) {
      value = static_cast<T>(int64_t{value} / int64_t{divisor});
    } else {
      value = static_cast<T>(uint64_t{value} / divisor);
    }
    __builtin_memcpy(to + at * sizeof(T), &value, sizeof(T));
  }
}

template <typename Isa, typename T>
struct FloatScale {
  using Vector = Lanes<T, Isa::kWidth>;
  static constexpr size_t kElementBytes = sizeof(T);

  static Vector apply(Vector value, uint32_t divisor) {
    constexpr T kQuiet = static_cast<T>(__builtin_nan(""));
    return canonical<Isa>(value / static_cast<T>(divisor), kQuiet);
  }
};

template <typename Format>
struct ShortFloatScale {
  using Vector = typename Format::Vector;
  static constexpr size_t kElementBytes = 2;

  static Vector apply(Vector value, uint32_t divisor) {
    return Format::narrow(Format::widen(value) / static_cast<float>(divisor));
  }
};

template <typename Isa, typename Scale>
void scale_loop(void* destination, size_t elements, uint32_t divisor) {
  using Vector = typename Scale::Vector;
  auto* const to = static_cast<unsigned char*>(destination);
  const size_t bytes = elements * Scale::kElementBytes;
  for (size_t at = 0; at < bytes; at += sizeof(Vector)) {
    const size_t now = bytes - at < sizeof(Vector) ? bytes - at : sizeof(Vector);
    Vector value{};
    __builtin_memcpy(&value, to + at, now);
    value = Scale::apply(value, divisor);
    __builtin_memcpy(to + at, &value, now);
  }
}

// --- the table ---

template <typename Isa, typename T>
inline constexpr std::array<ReduceKernel, 4> kIntegerRow = {
    reduce_loop<Isa, IntegerStep<Isa, T, Fold::kSum>>,
    reduce_loop<Isa, IntegerStep<Isa, T, Fold::kProduct>>,
    reduce_loop<Isa, IntegerStep<Isa, T, Fold::kMin>>,
    reduce_loop<Isa, IntegerStep<Isa, T, Fold::kMax>>,
};

template <typename Isa, typename T, typename Bits, Bits kInfinity, Bits kQuiet>
inline constexpr std::array<ReduceKernel, 4> kFloatRow = {
    reduce_loop<Isa, FloatStep<Isa, T, Fold::kSum>>,
    reduce_loop<Isa, FloatStep<Isa, T, Fold::kProduct>>,
    reduce_loop<Isa, OrderStep<Isa, Bits, kInfinity, kQuiet, Fold::kMin>>,
    reduce_loop<Isa, OrderStep<Isa, Bits, kInfinity, kQuiet, Fold::kMax>>,
};

template <typename Isa, typename Format, int16_t kInfinity, int16_t kQuiet>
inline constexpr std::array<ReduceKernel, 4> kShortFloatRow = {
    reduce_loop<Isa, ShortFloatStep<Format, Fold::kSum>>,
    reduce_loop<Isa, ShortFloatStep<Format, Fold::kProduct>>,
    reduce_loop<Isa, OrderStep<Isa, int16_t, kInfinity, kQuiet, Fold::kMin>>,
    reduce_loop<Isa, OrderStep<Isa, int16_t, kInfinity, kQuiet, Fold::kMax>>,
};

// In the order of DataType.
template <typename Isa>
inline constexpr Kernels kKernels = {
    .name = Isa::kName,
    .reduce = {{
        kIntegerRow<Isa, int8_t>,
        kIntegerRow<Isa, uint8_t>,
        kIntegerRow<Isa, int32_t>,
        kIntegerRow<Isa, uint32_t>,
        kIntegerRow<Isa, int64_t>,
        kIntegerRow<Isa, uint64_t>,
        kShortFloatRow<Isa, typename Isa::Half, 0x7c00, 0x7e00>,
        kShortFloatRow<Isa, SplitBfloat<Isa>, 0x7f80, 0x7fc0>,
        kFloatRow<Isa, float, int32_t, 0x7f800000, 0x7fc00000>,
        kFloatRow<Isa, double, int64_t, 0x7ff0000000000000, 0x7ff8000000000000>,
        kIntegerRow<Isa, int16_t>,
        kIntegerRow<Isa, uint16_t>,
    }},
    .scale = {{
        scale_integers<Isa, int8_t>,
        scale_integers<Isa, uint8_t>,
        scale_integers<Isa, int32_t>,
        scale_integers<Isa, uint32_t>,
        scale_integers<Isa, int64_t>,
        scale_integers<Isa, uint64_t>,
        scale_loop<Isa, ShortFloatScale<typename Isa::Half>>,
        scale_loop<Isa, ShortFloatScale<SplitBfloat<Isa>>>,
        scale_loop<Isa, FloatScale<Isa, float>>,
        scale_loop<Isa, FloatScale<Isa, double>>,
        scale_integers<Isa, int16_t>,
        scale_integers<Isa, uint16_t>,
    }},
};

}  // namespace heddle::collectives::reduction
