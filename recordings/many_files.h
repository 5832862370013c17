// allow_many_files(): readers hold all files of a recording open at once.
#pragma once

#include <sys/resource.h>

namespace heddle::recordings {

// There may be more than the usual 1,024.
inline void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace heddle::recordings
