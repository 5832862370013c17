// How a row of elements is cut into parts that differ by at most one element.
#pragma once

#include <algorithm>
#include <cstdint>

namespace heddle::collectives {

struct Part {
  uint64_t offset = 0;
  uint64_t length = 0;
};

// The `index`-th of `parts` parts of [0, total); the longer ones come first.
constexpr Part part_of(uint64_t total, uint64_t parts, uint64_t index) {
  const uint64_t each = total / parts;
  const uint64_t longer = total % parts;
  return {index * each + std::min(index, longer), each + (index < longer ? 1 : 0)};
}

// The same of a part.
constexpr Part part_of(const Part& whole, uint64_t parts, uint64_t index) {
  const Part part = part_of(whole.length, parts, index);
  return {whole.offset + part.offset, part.length};
}

// How many pieces of at most `most` make up `total`; one for nothing.
constexpr uint64_t pieces_of(uint64_t total, uint64_t most) {
  return total == 0 ? 1 : (total - 1) / most + 1;
}

}  // namespace heddle::collectives
