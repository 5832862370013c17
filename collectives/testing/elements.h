// Elements of any type whose sums and products over a few ranks are exact, so that results do not
// depend on the order in which ranks are combined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "collectives/reduction.h"

namespace heddle::collectives {

// `count` elements of 1 or 2, by rank and place. They are made by adding ones, in the type itself.
inline std::vector<std::byte> elements_of(DataType type, uint32_t rank, size_t count) {
  const size_t width = size_of(type);
  std::vector<std::byte> one(width);
  switch (type) {
    case DataType::kFloat16:
      one = {std::byte{0x00}, std::byte{0x3c}};
      break;
    case DataType::kBfloat16:
      one = {std::byte{0x80}, std::byte{0x3f}};
      break;
    case DataType::kFloat32: {
      const float value = 1;
      std::memcpy(one.data(), &value, width);
      break;
    }
    case DataType::kFloat64: {
      const double value = 1;
      std::memcpy(one.data(), &value, width);
      break;
    }
    default:
      one[0] = std::byte{1};
  }
  std::vector<std::byte> two(width);
  reduce(type, ReduceOp::kSum, two.data(), {one.data(), one.data()}, 1);
  std::vector<std::byte> all(count * width);
  for (size_t i = 0; i < count; ++i) {
    const bool is_two = (i * 2654435761U >> 7 ^ rank) % 2 == 1;
    std::memcpy(all.data() + i * width, is_two ? two.data() : one.data(), width);
  }
  return all;
}

// What all ranks' elements combine to.
inline std::vector<std::byte> combined(DataType type, ReduceOp op, uint32_t ranks, size_t count) {
  std::vector<std::byte> all = elements_of(type, 0, count);
  for (uint32_t rank = 1; rank < ranks; ++rank) {
    const std::vector<std::byte> next = elements_of(type, rank, count);
    reduce(type, op, all.data(), {all.data(), next.data()}, count);
  }
  if (op == ReduceOp::kAverage) scale(type, all.data(), count, ranks);
  return all;
}

}  // namespace heddle::collectives
