// RankSet: some of the ranks of a communicator, and its bytes in a message: runs of ranks, or a bit
// for each rank, whichever is shorter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle::collectives {

class RankSet {
 public:
  // None of `size` ranks.
  explicit RankSet(uint32_t size = 0) : size_(size), bits_((size_t{size} + 63) / 64) {}

  // Of how many ranks it is a part.
  uint32_t size() const { return size_; }
  uint32_t count() const;
  bool contains(uint32_t rank) const {
    return rank < size_ && (bits_[rank / 64] >> (rank % 64) & 1) != 0;
  }
  void insert(uint32_t rank) { bits_[rank / 64] |= uint64_t{1} << (rank % 64); }
  void erase(uint32_t rank) { bits_[rank / 64] &= ~(uint64_t{1} << (rank % 64)); }
  void insert_all(const RankSet& others);
  // In ascending order.
  std::vector<uint32_t> ranks() const;
  // "0 to 2, 5".
  std::string text() const;
  bool operator==(const RankSet&) const = default;

  // The bytes written; 0: they are more than `room`.
  size_t write(std::span<std::byte> room) const;
  // Nothing where the bytes make no sense for `size` ranks.
  static std::optional<RankSet> read(std::span<const std::byte> bytes, uint32_t size);

 private:
  struct Run {
    uint32_t first = 0;
    uint32_t ranks = 0;
  };
  std::vector<Run> runs() const;

  uint32_t size_ = 0;
  std::vector<uint64_t> bits_;
};

}  // namespace heddle::collectives
