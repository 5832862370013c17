// Source: where a recording's bytes are read from, piece by piece: a file, which may be longer than
// memory and may still be written or cut, or bytes in memory.
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
  // Copies from `at` on; returns how many there were, fewer at the end.
  virtual size_t read(uint64_t at, std::byte* to, size_t bytes) const = 0;
  // The next place from `at` on that may hold something else than zeros; size() where none does.
  virtual uint64_t next_data(uint64_t at) const = 0;
};

// Errors: kUnavailable (no such file), kPermission, kInvalid (empty, or not a file).
Result<std::shared_ptr<Source>> open_file(const std::string& path);
// Of bytes that outlive it.
std::shared_ptr<Source> in_memory(const std::byte* start, size_t bytes);

}  // namespace heddle::events::recording
