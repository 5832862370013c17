// AnonymousMemory: pages of this process that go back to the system when it ends. It takes address
// space only; a page exists once it is written. For buffers that come and go: the C library keeps
// what is freed below its growing mmap threshold (mallopt(3)), and a server would never shrink.
#pragma once

#include <cstddef>

#include "base/units.h"

namespace heddle {

class AnonymousMemory {
 public:
  AnonymousMemory() = default;
  // Zeros. Holds nothing where the system gives none, or for zero bytes.
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
