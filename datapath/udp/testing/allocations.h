// For tests: how often this program has allocated memory so far. The operators that count stand in
// allocation_count_test.cc, apart from what they count.
#pragma once

#include <cstdint>

namespace heddle::datapath {

uint64_t allocations();

}  // namespace heddle::datapath
