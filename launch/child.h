// A command that runs as this program's only child, as a shell would run it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::launch {

// How it ended, as a shell has it: its status, or 128 and the number of the signal that ended it;
// `failure` where it could not be started, with the exit status for that (see base/exec.h).
struct ChildEnd {
  int exit_status = 0;
  std::optional<Error> failure;
};

// Runs `words` with `settings` ("NAME=value") added to the environment, to its end. Signals that
// ask this program to end are passed on, also one that came before (base/interrupt.h).
ChildEnd run_child(const std::vector<std::string>& words, const std::vector<std::string>& settings);

}  // namespace heddle::launch
