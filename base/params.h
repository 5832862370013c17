// Constants of judgement of the base: unit, source, range. The namespace is not `params`, since one
// of heddle:: would be hidden by that of each other room.
#pragma once

#include <cstdint>

namespace heddle::base_params {

// A borrower may hold this many times as many objects of a pool as are free (pool.h). Source: the
// factor of Dynamic Queue Length Thresholds (Choudhury and Hahne, 1998), a power of two; one greedy
// borrower leaves a third to others. Range: 1 to 8.
inline constexpr uint64_t kPoolShare = 2;
// Descriptors that are closed one by one, at most, where Linux cannot close a range, before 5.9
// (inherited_files.cc). Source: the kernel's default of fs.nr_open, above which no process can have
// its limit. Range: 65,536 to 2^30, as nr_open.
inline constexpr uint64_t kMostFiles = 1 << 20;

}  // namespace heddle::base_params
