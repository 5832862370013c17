// Workers: run functions in child processes, each of which may enter another namespace, and return
// their results through a pipe. Code that makes, reads or changes a lab uses them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::lab {

using Work = std::function<Result<std::string>()>;

class Workers {
 public:
  // Runs at most `limit` at a time; 0: twice the number of processors.
  explicit Workers(size_t limit = 0);
  ~Workers();  // kills the remaining children
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Starts `work`, after waiting until fewer than the limit run.
  void start(const Work& work);
  // Waits for all. Returns the texts in the order of the starts, or the first error.
  Result<std::vector<std::string>> finish();

 private:
  struct Running {
    pid_t process = 0;
    int pipe = -1;
    size_t number = 0;
  };

  void collect_first();
  void keep(const Error& error);

  size_t limit_;
  std::vector<Running> running_;
  std::vector<std::string> texts_;
  bool failed_ = false;
  Error error_;
};

// Runs `work` in a child process.
Result<std::string> run_apart(const Work& work);

// Moves the calling thread into a namespace below /run/netns; with `own_sys`, /sys shows the
// devices of that namespace. Errors: kUnavailable if it does not exist; kPermission.
Result<void> enter_namespace(const std::string& netns, bool own_sys);

// Writes a file of /proc or /sys. Errors: kSystem.
Result<void> write_kernel_file(const std::string& path, const std::string& value);

}  // namespace heddle::lab
