// What a forked process does with the descriptors of its parent. These are safe between fork() and
// exec(), and need no glibc newer than 2.31: close_range(2) is called by its number.
#pragma once

namespace heddle {

// Closes every descriptor from `first` on.
void close_files_from(int first);

// Marks every descriptor from `first` on, to be closed when this process becomes another program.
void close_files_on_exec_from(int first);

}  // namespace heddle
