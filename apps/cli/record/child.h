// A command that runs as this program's only child, as a shell would run it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::cli {

// Runs `words` with `settings` ("NAME=value") added to the environment, to its end, and returns
// what a shell would say: its status, or 128 and the number of the signal that ended it. Signals
// that ask this program to end are passed on. Errors: kUnavailable (the program cannot be
// started), kSystem.
Result<int> run_child(const std::vector<std::string>& words,
                      const std::vector<std::string>& settings);

}  // namespace heddle::cli
