// See inherited_files.h.
#include "base/inherited_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/params.h"

namespace heddle {
namespace {

constexpr rlim_t kMostFiles = base_params::kMostFiles;
constexpr unsigned kCloseOnExec = 1U << 2;  // CLOSE_RANGE_CLOEXEC

bool close_range_call(int first, unsigned flags) {
  return syscall(__NR_close_range, static_cast<unsigned>(first), ~0U, flags) == 0;
}

// The bound of descriptors; a limit lowered since leaves higher ones open.
int files_end() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_max = kMostFiles;
  return static_cast<int>(std::min(limit.rlim_max, kMostFiles));
}

}  // namespace

void close_files_from(int first) {
  if (close_range_call(first, 0)) return;
  const int end = files_end();
  for (int file = first; file < end; ++file) close(file);  // before Linux 5.9
}

void close_files_on_exec_from(int first) {
  if (close_range_call(first, kCloseOnExec)) return;
  const int end = files_end();
  for (int file = first; file < end; ++file) fcntl(file, F_SETFD, FD_CLOEXEC);  // before 5.11
}

}  // namespace heddle
