// Counts what `new` gives on this thread. A program that uses it has its operators new and delete
// replaced.
#pragma once

#include <cstdint>

namespace heddle::transport::testing {

struct Allocations {
  uint64_t count = 0;      // calls of operator new
  int64_t live_bytes = 0;  // given and not given back, as malloc rounds it
};

// Between count_allocations(true) and count_allocations(false), on this thread.
Allocations allocations();
void count_allocations(bool counting);
// While allocations are counted, one that raises the live bytes by more than this ends the process.
void limit_allocations(int64_t live_bytes);

}  // namespace heddle::transport::testing
