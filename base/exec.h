// Exec: replaces this process by another program, with the exit statuses of env(1) and timeout(1)
// for failures. The last step of everything that starts programs: launch/, labs, uploads by curl.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace heddle {

// Exit statuses of a program that starts another one.
inline constexpr int kOwnFailure = 125;  // it failed itself, before it started the program
inline constexpr int kExecFailed = 126;  // the program exists and could not be started
inline constexpr int kNotFound = 127;

// Why no program was started, and the exit status for that.
struct ExecFailure {
  Error error;
  int exit_status = kOwnFailure;
};

// Becomes the program that `words` name. `file` is executed in place of the first word where it is
// not empty. Returns only failures: kUnavailable.
ExecFailure exec_program(const std::vector<std::string>& words, const std::string& file = {});

}  // namespace heddle
