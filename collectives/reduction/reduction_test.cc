// Reduction, with the kernels of every instruction set that this processor has: results against
// arithmetic in double and in wide integers, and the same bits from all of them.
#include "collectives/reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "collectives/reduction/kernels.h"

namespace heddle::collectives {
namespace {

using reduction::InstructionSet;
using reduction::Kernels;

constexpr std::array kFolds = {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax};

// A format of 16 bits, described apart from the kernels.
struct ShortFormat {
  int exponent_bits;
  int mantissa_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }

  double decode(uint16_t bits) const {
    const int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1) {
      return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                           : sign * std::numeric_limits<double>::infinity();
    }
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias() - mantissa_bits);
    return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias() - mantissa_bits);
  }

  // Rounds to nearest even.
  uint16_t encode(double value) const {
    const int infinity = ((1 << exponent_bits) - 1) << mantissa_bits;
    if (std::isnan(value)) return static_cast<uint16_t>(infinity | 1 << (mantissa_bits - 1));
    const int sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isinf(value)) return static_cast<uint16_t>(sign | infinity);
    if (value == 0) return static_cast<uint16_t>(sign);
    int exponent = 0;
    std::frexp(value, &exponent);  // value = m * 2^exponent with m from 0.5 to 1
    const int unit = std::max(exponent - 1 - mantissa_bits, 1 - bias() - mantissa_bits);
    const auto units = static_cast<int>(std::nearbyint(std::ldexp(std::fabs(value), -unit)));
    // In units of the last place the patterns of one sign are consecutive.
    const int bits = units + ((unit - (1 - bias() - mantissa_bits)) << mantissa_bits);
    return static_cast<uint16_t>(sign | std::min(bits, infinity));
  }
};

constexpr ShortFormat kHalf = {.exponent_bits = 5, .mantissa_bits = 10};
constexpr ShortFormat kBfloat = {.exponent_bits = 8, .mantissa_bits = 7};

template <typename Float>
Float minimum(Float a, Float b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Float>::quiet_NaN();
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <typename Float>
Float fold(ReduceOp op, Float a, Float b) {
  Float result = a + b;
  if (op == ReduceOp::kProduct) result = a * b;
  if (op == ReduceOp::kMin) result = minimum(a, b);
  if (op == ReduceOp::kMax) result = -minimum(-a, -b);
  return std::isnan(result) ? std::numeric_limits<Float>::quiet_NaN() : result;
}

template <typename Integer>
Integer fold_integers(ReduceOp op, Integer a, Integer b) {
  const auto x = Uint128{static_cast<std::make_unsigned_t<Integer>>(a)};
  const auto y = Uint128{static_cast<std::make_unsigned_t<Integer>>(b)};
  if (op == ReduceOp::kMin) return a < b ? a : b;
  if (op == ReduceOp::kMax) return a > b ? a : b;
  return static_cast<Integer>(op == ReduceOp::kSum ? x + y : x * y);
}

// Runs with the kernels of each instruction set in turn.
class ReductionTest : public ::testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    kernels_ = reduction::kernels_of(GetParam());
    if (kernels_ == nullptr) GTEST_SKIP() << "this processor has no such instructions";
  }

  template <typename T>
  std::vector<T> reduced(DataType type, ReduceOp op, const std::vector<T>& a,
                         const std::vector<T>& b) const {
    std::vector<T> result(a.size());
    kernels_->reduce_of(type, op)(result.data(), a.data(), b.data(), a.size());
    return result;
  }

  void check_short_floats(DataType type, const ShortFormat& format) const;
  template <typename T>
  void check_integers(DataType type) const;
  template <typename T, typename Bits>
  void check_floats(DataType type) const;

  const Kernels* kernels_ = nullptr;
};

// Numbers around every border of a format, and some from all over it.
std::vector<uint16_t> samples(const ShortFormat& format, Random& random) {
  const auto infinity =
      static_cast<uint16_t>(((1 << format.exponent_bits) - 1) << format.mantissa_bits);
  const auto one = static_cast<uint16_t>(format.bias() << format.mantissa_bits);
  const auto smallest = static_cast<uint16_t>(1 << format.mantissa_bits);
  std::vector<uint16_t> found;
  for (const uint16_t border : {uint16_t{0}, one, smallest, infinity}) {
    for (int step = -3; step <= 3; ++step) {
      const auto near = static_cast<uint16_t>((border + step) & 0x7fff);
      found.push_back(near);
      found.push_back(near | 0x8000);
    }
  }
  for (int i = 0; i < 12; ++i) found.push_back(static_cast<uint16_t>(random.next()));
  return found;
}

void ReductionTest::check_short_floats(DataType type, const ShortFormat& format) const {
  Random random(7);
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (const uint16_t other : samples(format, random)) {
    const std::vector<uint16_t> others(all.size(), other);
    for (const ReduceOp op : kFolds) {
      const std::vector<uint16_t> result = reduced(type, op, all, others);
      for (size_t i = 0; i < all.size(); ++i) {
        const double exact = fold(op, format.decode(all[i]), format.decode(other));
        ASSERT_EQ(result[i], format.encode(exact))
            << name_of(op) << " of " << all[i] << " and " << other << ", exactly " << exact;
      }
    }
  }
  for (const uint32_t divisor : {1U, 2U, 3U, 7U, 1000U, kMostDivisor}) {
    std::vector<uint16_t> scaled = all;
    kernels_->scale_of(type)(scaled.data(), scaled.size(), divisor);
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(scaled[i], format.encode(format.decode(all[i]) / divisor))
          << all[i] << " / " << divisor;
    }
  }
}

TEST_P(ReductionTest, EveryHalfIsRoundedOnceFromTheExactResult) {
  check_short_floats(DataType::kFloat16, kHalf);
}

TEST_P(ReductionTest, EveryBfloat16IsRoundedOnceFromTheExactResult) {
  check_short_floats(DataType::kBfloat16, kBfloat);
}

template <typename T>
void ReductionTest::check_integers(DataType type) const {
  Random random(8);
  std::vector<T> a(1003);
  std::vector<T> b(a.size());
  constexpr std::array<T, 6> kBorders = {std::numeric_limits<T>::min(),
                                         std::numeric_limits<T>::max(),
                                         T{0},
                                         T{1},
                                         static_cast<T>(-1),
                                         T{2}};
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = i < 36 ? kBorders[i / 6] : static_cast<T>(random.next());
    b[i] = i < 36 ? kBorders[i % 6] : static_cast<T>(random.next());
  }
  for (const ReduceOp op : kFolds) {
    const std::vector<T> result = reduced(type, op, a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(result[i], fold_integers(op, a[i], b[i]))
          << name_of(type) << " " << name_of(op) << " of " << +a[i] << " and " << +b[i];
    }
  }
  for (const uint32_t divisor : {1U, 3U, 200U, 70'000U, kMostDivisor}) {
    std::vector<T> scaled = a;
    kernels_->scale_of(type)(scaled.data(), scaled.size(), divisor);
    for (size_t i = 0; i < a.size(); ++i) {
      const T exact = std::is_signed_v<T>
                          ? static_cast<T>(static_cast<int64_t>(a[i]) / int64_t{divisor})
                          : static_cast<T>(static_cast<uint64_t>(a[i]) / divisor);
      ASSERT_EQ(scaled[i], exact) << name_of(type) << " " << +a[i] << " / " << divisor;
    }
  }
}

TEST_P(ReductionTest, IntegersWrap) {
  check_integers<int8_t>(DataType::kInt8);
  check_integers<uint8_t>(DataType::kUint8);
  check_integers<int16_t>(DataType::kInt16);
  check_integers<uint16_t>(DataType::kUint16);
  check_integers<int32_t>(DataType::kInt32);
  check_integers<uint32_t>(DataType::kUint32);
  check_integers<int64_t>(DataType::kInt64);
  check_integers<uint64_t>(DataType::kUint64);
}

template <typename T, typename Bits>
void ReductionTest::check_floats(DataType type) const {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> borders = {T{0},
                                  -T{0},
                                  T{1},
                                  T{-1},
                                  Limits::infinity(),
                                  -Limits::infinity(),
                                  Limits::quiet_NaN(),
                                  -Limits::quiet_NaN(),
                                  Limits::signaling_NaN(),
                                  Limits::max(),
                                  Limits::lowest(),
                                  Limits::min(),
                                  Limits::denorm_min(),
                                  -Limits::denorm_min()};
  Random random(9);
  const auto any = [&random] {
    const auto bits = static_cast<Bits>(random.next());
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  };
  std::vector<T> a;
  std::vector<T> b;
  for (const T x : borders) {
    for (const T y : borders) {
      a.push_back(x);
      b.push_back(y);
    }
    a.push_back(x);
    b.push_back(any());
  }
  while (a.size() < 5001) {
    a.push_back(any());
    b.push_back(any());
  }
  const auto bits_of = [](T value) {
    Bits bits;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
  };
  for (const ReduceOp op : kFolds) {
    const std::vector<T> result = reduced(type, op, a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(bits_of(result[i]), bits_of(fold(op, a[i], b[i])))
          << name_of(type) << " " << name_of(op) << " of " << a[i] << " and " << b[i];
    }
  }
  for (const uint32_t divisor : {1U, 3U, kMostDivisor}) {
    std::vector<T> scaled = a;
    kernels_->scale_of(type)(scaled.data(), scaled.size(), divisor);
    for (size_t i = 0; i < a.size(); ++i) {
      const T exact = a[i] / static_cast<T>(divisor);
      ASSERT_EQ(bits_of(scaled[i]), bits_of(std::isnan(exact) ? Limits::quiet_NaN() : exact));
    }
  }
}

TEST_P(ReductionTest, FloatsAndDoublesAreThoseOfTheProcessor) {
  check_floats<float, uint32_t>(DataType::kFloat32);
  check_floats<double, uint64_t>(DataType::kFloat64);
}

TEST_P(ReductionTest, GivesTheSameBitsAsTheBaselineAtEverySizeAndAlignment) {
  const Kernels& baseline = *reduction::kernels_of(InstructionSet::kBaseline);
  Random random(10);
  std::vector<unsigned char> a(2048);
  std::vector<unsigned char> b(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<unsigned char>(random.next());
    b[i] = static_cast<unsigned char>(random.next());
  }
  for (size_t at = 0; at < kDataTypes; ++at) {
    const auto type = static_cast<DataType>(at);
    for (const ReduceOp op : kFolds) {
      for (size_t elements = 0; elements < 140; ++elements) {
        const size_t from = random.below(64);
        const size_t to = random.below(64);
        std::vector<unsigned char> expected(a.size(), 0xee);
        std::vector<unsigned char> result = expected;
        baseline.reduce_of(type, op)(expected.data() + to, a.data() + from, b.data() + to,
                                     elements);
        kernels_->reduce_of(type, op)(result.data() + to, a.data() + from, b.data() + to, elements);
        ASSERT_EQ(result, expected) << name_of(type) << " " << name_of(op) << " " << elements;
        baseline.scale_of(type)(expected.data() + to, elements, 3);
        kernels_->scale_of(type)(result.data() + to, elements, 3);
        ASSERT_EQ(result, expected) << name_of(type) << " scaled " << elements;
      }
    }
  }
}

TEST_P(ReductionTest, WorksInPlaceOfEitherSource) {
  Random random(11);
  for (size_t at = 0; at < kDataTypes; ++at) {
    const auto type = static_cast<DataType>(at);
    const size_t elements = 77;
    std::vector<unsigned char> a(elements * size_of(type));
    std::vector<unsigned char> b(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<unsigned char>(random.next());
      b[i] = static_cast<unsigned char>(random.next());
    }
    for (const ReduceOp op : kFolds) {
      std::vector<unsigned char> expected(a.size());
      const auto kernel = kernels_->reduce_of(type, op);
      kernel(expected.data(), a.data(), b.data(), elements);
      std::vector<unsigned char> into_a = a;
      kernel(into_a.data(), into_a.data(), b.data(), elements);
      std::vector<unsigned char> into_b = b;
      kernel(into_b.data(), a.data(), into_b.data(), elements);
      EXPECT_EQ(into_a, expected) << name_of(type) << " " << name_of(op);
      EXPECT_EQ(into_b, expected) << name_of(type) << " " << name_of(op);
    }
  }
}

std::string set_name(const ::testing::TestParamInfo<InstructionSet>& tested) {
  constexpr std::array<const char*, 3> kNames = {"Avx512", "Avx2", "Baseline"};
  return kNames[static_cast<size_t>(tested.param)];
}

INSTANTIATE_TEST_SUITE_P(Sets, ReductionTest, ::testing::ValuesIn(reduction::kInstructionSets),
                         set_name);

TEST(ReduceTest, AnAverageIsASumThatIsDividedInTheEnd) {
  const std::vector<float> a = {1, 2, 3};
  const std::vector<float> b = {4, 5, 7};
  std::vector<float> result(3);
  reduce(DataType::kFloat32, ReduceOp::kAverage, result.data(), {a.data(), b.data()}, 3);
  scale(DataType::kFloat32, result.data(), 3, 2);
  EXPECT_EQ(result, (std::vector<float>{2.5, 3.5, 5}));
}

TEST(ReduceTest, NoElementsAreNothingToDo) {
  reduce(DataType::kFloat32, ReduceOp::kSum, nullptr, {}, 0);
  scale(DataType::kBfloat16, nullptr, 0, 2);
}

}  // namespace
}  // namespace heddle::collectives
