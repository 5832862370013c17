// MirroredMemory: memory of any size in a few pages, by mapping the same piece repeatedly. For
// buffers whose contents are not used, as those of simulated ranks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace heddle::jobs {

class MirroredMemory {
 public:
  // Errors: kExhausted.
  static Result<MirroredMemory> create(uint64_t bytes);
  MirroredMemory() = default;
  MirroredMemory(MirroredMemory&& other) noexcept;
  MirroredMemory& operator=(MirroredMemory&& other) noexcept;
  ~MirroredMemory();

  std::byte* start() const { return start_; }
  uint64_t bytes() const { return bytes_; }

 private:
  std::byte* start_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace heddle::jobs
