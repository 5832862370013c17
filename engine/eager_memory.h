// EagerMemory: anonymous memory in which early messages wait. It takes address space only; pages
// come into being where a message was placed.
#pragma once

#include <cstddef>

#include "base/units.h"

namespace heddle::engine {

class EagerMemory {
 public:
  // Holds nothing where the system gives none, or for zero bytes.
  explicit EagerMemory(Bytes size);
  ~EagerMemory();
  EagerMemory(const EagerMemory&) = delete;
  EagerMemory& operator=(const EagerMemory&) = delete;

  std::byte* start() const { return start_; }  // null: nothing held
  size_t bytes() const { return bytes_; }

 private:
  std::byte* start_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace heddle::engine
