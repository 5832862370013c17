// For tests: the number of allocations of this program so far. The counting operators are in
// allocation_count_test.cc, a separate file from the counted code.
#pragma once

#include <cstdint>

namespace heddle::datapath {

uint64_t allocations();

}  // namespace heddle::datapath
