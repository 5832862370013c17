// Partition of an array of elements: into parts that differ by at most one element, or into chunks
// that end where a burst of the network does.
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

// `bytes` made up to whole bursts; as it is where a burst is longer, or there are none (0).
constexpr uint64_t in_bursts(uint64_t bytes, uint64_t burst_bytes) {
  if (burst_bytes == 0 || burst_bytes > bytes) return bytes;
  return pieces_of(bytes, burst_bytes) * burst_bytes;
}

// How rows of up to `longest` elements are cut into chunks of up to `most`: at multiples of `unit`,
// in as few chunks as can be, whose units differ by at most one. Shorter rows have as many chunks;
// the last ones are shorter, or empty. By default of rows of nothing.
class Cut {
 public:
  Cut() = default;
  constexpr Cut(uint64_t longest, uint64_t most, uint64_t unit)
      : unit_(longest <= most || unit > most ? 1 : unit),
        units_(pieces_of(longest, unit_)),
        count_(pieces_of(units_, most / unit_)),
        longest_(std::min(part_of(units_, count_, 0).length * unit_, longest)) {}

  constexpr uint64_t count() const { return count_; }
  // Elements of the longest chunk.
  constexpr uint64_t longest() const { return longest_; }
  constexpr Part part(const Part& row, uint64_t index) const {
    const Part units = part_of(units_, count_, index);
    const uint64_t begin = std::min(units.offset * unit_, row.length);
    const uint64_t end = std::min((units.offset + units.length) * unit_, row.length);
    return {row.offset + begin, end - begin};
  }
  constexpr Part part(uint64_t row, uint64_t index) const { return part(Part{0, row}, index); }

 private:
  uint64_t unit_ = 1;
  uint64_t units_ = 0;
  uint64_t count_ = 1;
  uint64_t longest_ = 0;
};

}  // namespace heddle::collectives
