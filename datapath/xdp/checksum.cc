// See checksum.h.
#include "datapath/xdp/checksum.h"

#include <bit>
#include <cstring>

namespace heddle::datapath {

namespace {

uint64_t load(const std::byte* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Ones' complement addition of 64-bit words: a carry is worth one.
void add_with_carry(uint64_t& sum, uint64_t word) {
  sum += word;
  sum += sum < word ? 1 : 0;
}

}  // namespace

void ChecksumSum::add(std::span<const std::byte> bytes) {
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  // Four sums, so that no addition waits for the carry of the one before.
  uint64_t sums[4] = {sum_, 0, 0, 0};
  for (; left >= 32; left -= 32, at += 32) {
    for (int i = 0; i < 4; ++i) add_with_carry(sums[i], load(at + 8 * i));
  }
  for (; left >= 8; left -= 8, at += 8) add_with_carry(sums[0], load(at));
  if (left > 0) {
    uint64_t word = 0;  // a missing byte counts as zero
    std::memcpy(&word, at, left);
    add_with_carry(sums[1], word);
  }
  for (int i = 1; i < 4; ++i) add_with_carry(sums[0], sums[i]);
  sum_ = sums[0];
}

// The words of a part behind an odd number of bytes are shifted (RFC 1071 section 2B).
void ChecksumSum::add_part(std::span<const std::byte> bytes, bool& odd) {
  ChecksumSum part;
  part.add(bytes);
  const uint16_t sum = part.folded();
  add_with_carry(sum_, odd ? static_cast<uint16_t>(sum << 8 | sum >> 8) : sum);
  odd = odd != (bytes.size() % 2 == 1);
}

void ChecksumSum::add_word(uint16_t value) {
  const uint16_t stored = std::endian::native == std::endian::little
                              ? static_cast<uint16_t>(__builtin_bswap16(value))
                              : value;
  add_with_carry(sum_, stored);
}

void ChecksumSum::add_sum(const ChecksumSum& other) { add_with_carry(sum_, other.sum_); }

uint16_t ChecksumSum::folded() const {
  uint64_t sum = (sum_ & 0xffffffff) + (sum_ >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

}  // namespace heddle::datapath
