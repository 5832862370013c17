// The field's laws, and that any rows of the code rebuild as many members.
#include "datapath/fec/field.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <vector>

#include "datapath/fec.h"

namespace heddle::datapath {
namespace {

TEST(Field, MultiplicationDistributesAndHasInverses) {
  for (uint32_t a = 1; a < 256; ++a) {
    const auto x = static_cast<uint8_t>(a);
    EXPECT_EQ(field_product(x, field_inverse(x)), 1);
    EXPECT_EQ(field_product(x, 0), 0);
    for (uint32_t b = 1; b < 256; ++b) {
      const auto y = static_cast<uint8_t>(b);
      ASSERT_NE(field_product(x, y), 0);
      ASSERT_EQ(field_product(x, static_cast<uint8_t>(y ^ 0x53)),
                field_product(x, y) ^ field_product(x, 0x53));
    }
  }
}

// By elimination with exchanged rows, another way than the rebuilder's.
bool has_inverse(std::vector<std::vector<uint8_t>> matrix) {
  const size_t size = matrix.size();
  for (size_t pivot = 0; pivot < size; ++pivot) {
    size_t row = pivot;
    while (row < size && matrix[row][pivot] == 0) ++row;
    if (row == size) return false;
    std::swap(matrix[row], matrix[pivot]);
    for (size_t r = pivot + 1; r < size; ++r) {
      const uint8_t factor = field_product(matrix[r][pivot], field_inverse(matrix[pivot][pivot]));
      for (size_t c = 0; c < size; ++c) matrix[r][c] ^= field_product(matrix[pivot][c], factor);
    }
  }
  return true;
}

std::vector<std::vector<uint32_t>> choices(uint32_t from, uint32_t count) {
  std::vector<std::vector<uint32_t>> made;
  for (uint32_t bits = 0; bits < (1u << from); ++bits) {
    if (static_cast<uint32_t>(std::popcount(bits)) != count) continue;
    std::vector<uint32_t>& one = made.emplace_back();
    for (uint32_t i = 0; i < from; ++i) {
      if ((bits >> i & 1) != 0) one.push_back(i);
    }
  }
  return made;
}

TEST(Field, AnyRowsOfParityRebuildAnyMembers) {
  for (uint32_t count = 1; count <= 4; ++count) {
    for (const auto& rows : choices(kMostFecParity, count)) {
      for (const auto& members : choices(10, count)) {
        std::vector<std::vector<uint8_t>> matrix;
        for (const uint32_t row : rows) {
          auto& line = matrix.emplace_back();
          for (const uint32_t member : members) line.push_back(coefficient(row, member));
        }
        ASSERT_TRUE(has_inverse(matrix));
      }
    }
  }
}

TEST(Field, TheFirstRowIsPlainXor) {
  for (uint32_t member = 0; member < kMostFecData; ++member) EXPECT_EQ(coefficient(0, member), 1);
}

TEST(Field, AScaledSumIsUndoneByItself) {
  std::array<std::byte, 5> sum{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                               std::byte{5}};
  const std::array<std::byte, 5> before = sum;
  const std::array<std::byte, 3> more{std::byte{7}, std::byte{8}, std::byte{9}};
  add_scaled(sum, more, 0x1d);
  EXPECT_NE(sum, before);
  EXPECT_EQ(sum[4], before[4]);
  add_scaled(sum, more, 0x1d);
  EXPECT_EQ(sum, before);
}

}  // namespace
}  // namespace heddle::datapath
