// Digest: the checksum of a file's content, computed on both sides: XXH3 with 128 bits of
// libxxhash, which keeps pace with memory. It finds errors of disks, memory and programs; against
// an adversary the connection's keys protect.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace heddle::copying {

using DigestValue = std::array<std::byte, 16>;

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(Digest&& other) noexcept;
  Digest& operator=(Digest&& other) noexcept;

  void reset();
  void add(std::span<const std::byte> bytes);
  // Of all that was added so far; more may be added after it.
  DigestValue value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heddle::copying
