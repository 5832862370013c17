// Exec: replaces this process by a program on a host of a lab. The program runs in the host's
// network namespace and sees the host's name and a file /etc/hosts with all names of the lab.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "lab/lab.h"

namespace heddle::lab {

// Exit statuses of what starts another program, as env(1) and timeout(1) have them.
inline constexpr int kOwnFailure = 125;  // it failed itself, before it came to start the program
inline constexpr int kExecFailed = 126;  // the program is there and could not be started
inline constexpr int kNotFound = 127;

// Why no program was started, and the exit status for that.
struct ExecFailure {
  Error error;
  int exit_status = kOwnFailure;
};

// Returns only failures: kInvalid for a host that does not exist, kPermission, kUnavailable for a
// program that cannot be started.
ExecFailure exec_on_host(const Lab& lab, const std::string& host,
                         const std::vector<std::string>& words, const std::string& file = {});

// Becomes a program where it is. `file` is executed in place of the first word where it is not
// empty. Returns only failures.
ExecFailure exec_program(const std::vector<std::string>& words, const std::string& file = {});

}  // namespace heddle::lab
