// LimitedProgram: another program (a browser that prints a report) that ends, with all that it
// started, when its time is over or the caller is interrupted.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"

namespace heddle::acceptance {

struct LimitedProgram {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment;  // added to this process's
  Nanos limit;
  std::function<bool()> interrupted;  // asked several times a second
};

struct ProgramEnd {
  int exit_status = 0;  // 128 and the signal's number if one ended it
  bool late = false;
  bool interrupted = false;
  std::string last_line;  // of its standard error
};

// Its input is empty, its output goes nowhere. All children of this process are ended in the end:
// it must have no others. Errors: kSystem where it cannot be started.
Result<ProgramEnd> run_limited(const LimitedProgram& program);

}  // namespace heddle::acceptance
