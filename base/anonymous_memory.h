// AnonymousMemory: anonymous mmap pages that the destructor returns to the system. It reserves
// address space only; a page exists once it is written. For buffers with short lives: the C library
// keeps freed blocks below its growing mmap threshold (mallopt(3)), so a server would never shrink.
#pragma once

#include <cstddef>

#include "base/units.h"

namespace heddle {

class AnonymousMemory {
 public:
  AnonymousMemory() = default;
  // Zero-filled. Holds nothing if `size` is zero or the system has no address space left.
  explicit AnonymousMemory(Bytes size);
  AnonymousMemory(AnonymousMemory&& other) noexcept;
  AnonymousMemory& operator=(AnonymousMemory&& other) noexcept;
  ~AnonymousMemory();

  std::byte* start() const { return start_; }  // null: nothing held
  size_t bytes() const { return bytes_; }

 private:
  std::byte* start_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace heddle
