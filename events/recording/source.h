// Source: random access to a recording's bytes: a file, which may exceed memory and may still be
// written or truncated, or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace heddle::events::recording {

class Source {
 public:
  virtual ~Source() = default;
  virtual uint64_t size() const = 0;
  // Copies up to `bytes` from position `at`; returns the number copied, fewer at the end.
  virtual size_t read(uint64_t at, std::byte* to, size_t bytes) const = 0;
  // The next position from `at` on that may hold nonzero data; size() if there is none.
  virtual uint64_t next_data(uint64_t at) const = 0;
};

// Errors: kUnavailable (no such file), kPermission, kInvalid (empty, or not a regular file).
Result<std::shared_ptr<Source>> open_file(const std::string& path);
// Reads memory that must outlive the Source.
std::shared_ptr<Source> in_memory(const std::byte* start, size_t bytes);

}  // namespace heddle::events::recording
