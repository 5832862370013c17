// The Internet checksum (RFC 1071), for frames of the AF_XDP datapath.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle::datapath {

// A sum of 16-bit words in memory order, not yet folded. Ones' complement sums do not depend on
// byte order, so it is computed in the machine's own (RFC 1071 section 2B).
class ChecksumSum {
 public:
  // Adds bytes; only the last addition may have an odd length.
  void add(std::span<const std::byte> bytes);
  // As add(), for parts of any length: `odd` says whether the parts before it had an odd number of
  // bytes in all, and is updated.
  void add_part(std::span<const std::byte> bytes, bool& odd);
  // Adds a 16-bit number that is in network order in the packet.
  void add_word(uint16_t value);
  void add_sum(const ChecksumSum& other);
  // The folded sum as two bytes in memory order would be read.
  uint16_t folded() const;

 private:
  uint64_t sum_ = 0;
};

}  // namespace heddle::datapath
