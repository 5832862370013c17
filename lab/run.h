// Run: a lab for the lifetime of one command. `heddle lab run` calls it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/lab.h"

namespace heddle::lab {

// How a command ended: its exit status, 128 and the signal's number if one ended it; `failure`
// where it could not be started, with the exit status for that.
struct CommandEnd {
  int exit_status = 0;
  std::optional<Error> failure;
};

// Waits for the command, which finds the lab by HEDDLE_LAB in its environment. A signal that comes
// meanwhile is passed on to it. When the command has ended, its own children that still live are
// ended too. `warn` is called once if what makes the lab's delays ends meanwhile.
CommandEnd run_command(const Lab& lab, const std::vector<std::string>& words,
                       const std::function<void(const std::string&)>& warn);

// From now on, records SIGINT, SIGTERM and SIGHUP instead of ending this process.
void note_signals();
// The first recorded signal; 0: none.
int noted_signal();

}  // namespace heddle::lab
