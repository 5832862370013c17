// Work that is divided among threads: the caller's own and some that it starts.
#pragma once

#include <cstdint>
#include <functional>

namespace heddle::planner {

// Calls work(i) once for each i below `count`, on at most `threads` threads (0: as many as the
// process has cores), and returns when all are done. Where the system allows no more threads, those
// that there are do the work. Of exceptions that leave `work`, one is thrown on.
void for_each_at_once(uint32_t count, uint32_t threads, const std::function<void(uint32_t)>& work);

}  // namespace heddle::planner
