// PreparedExec and exec_program(): replace this process by another program, with the exit statuses
// of env(1) and timeout(1) for failures. The last step of everything that starts programs: launch/,
// labs, uploads by curl.
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

// A program to become, with its environment, made before fork(). run() takes neither memory nor a
// lock: another thread of the parent may have held either at fork(), and in the child no thread is
// left that releases it.
class PreparedExec {
 public:
  // `settings` ("NAME=value") replace variables of this process's environment, and those that
  // `removed` names are left out of it. `file` is executed in place of the first word where it is
  // not empty.
  explicit PreparedExec(std::vector<std::string> words, std::vector<std::string> settings = {},
                        const std::vector<std::string>& removed = {}, std::string file = {});
  PreparedExec(const PreparedExec&) = delete;
  PreparedExec& operator=(const PreparedExec&) = delete;

  // Becomes the program. Returns only where it cannot: the number of the error, as errno has it.
  int run() const;
  // What run() returned, in words: kUnavailable.
  ExecFailure failure(int error) const;

 private:
  std::vector<std::string> words_;
  std::vector<std::string> settings_;
  std::string file_;
  std::vector<char*> arguments_;    // with a null at the end, as are the variables
  std::vector<char*> environment_;  // this process's, with the settings
};

// Becomes the program that `words` name, as above, in a process without other threads. Returns only
// failures: kUnavailable.
ExecFailure exec_program(const std::vector<std::string>& words, const std::string& file = {});

}  // namespace heddle
