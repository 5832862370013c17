// RunChild: one simulation of a sweep in a process of its own, which ends with its parent. What it
// writes is kept in memory until it has ended.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::cli {

class RunChild {
 public:
  // Starts `heddle` with these words. Errors: kExhausted, kSystem.
  static Result<std::unique_ptr<RunChild>> start(const std::vector<std::string>& words);
  // Ends it if it has not.
  ~RunChild();
  RunChild(const RunChild&) = delete;
  RunChild& operator=(const RunChild&) = delete;

  // Looks without waiting.
  bool ended();
  // Once it has ended: as in a shell, 128 plus the number of a signal that ended it.
  int exit_status() const;
  // Once it has.
  std::string output() const { return text_of(output_); }
  std::string errors() const { return text_of(errors_); }

 private:
  RunChild() = default;
  static std::string text_of(int descriptor);

  pid_t process_ = -1;
  int status_ = 0;
  bool ended_ = false;
  int output_ = -1;
  int errors_ = -1;
};

}  // namespace heddle::cli
