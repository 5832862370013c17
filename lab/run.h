// Run: a lab for the lifetime of one command. `heddle lab run` calls it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/lab.h"

namespace heddle::lab {

// Runs the command, which finds the lab by HEDDLE_LAB in its environment, and waits for it.
// Forwards received signals to it. After it has ended, ends its remaining children as well. Calls
// `tell` once if the lab's forwarder dies meanwhile. Returns the command's exit status, or 128 plus
// the signal's number if a signal ended it. Errors: kUnavailable if it cannot be started.
Result<int> run_command(const Lab& lab, const std::vector<std::string>& words,
                        const std::function<void(const std::string&)>& tell);

// From now on, records SIGINT, SIGTERM and SIGHUP instead of ending this process.
void note_signals();
// The first recorded signal; 0: none.
int noted_signal();

}  // namespace heddle::lab
