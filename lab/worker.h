// Workers: pieces of work in processes of their own, each of which may enter another namespace.
// What they return comes back over a pipe. Whoever makes, watches or changes a lab drives them.
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
  // At most `limit` at a time; 0: twice the processors.
  explicit Workers(size_t limit = 0);
  ~Workers();  // kills what still runs
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Starts a piece, once fewer than the limit run.
  void start(const Work& work);
  // Waits for all. The texts in the order in which they were started, or the first error.
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

// One piece of work in a process of its own.
Result<std::string> run_apart(const Work& work);

// Moves this process into a namespace below /run/netns; with `own_sys`, /sys shows its devices.
// Errors: kUnavailable where it is not there; kPermission.
Result<void> enter_namespace(const std::string& netns, bool own_sys);

// Writes a file of /proc or /sys. Errors: kSystem.
Result<void> write_kernel_file(const std::string& path, const std::string& value);

}  // namespace heddle::lab
