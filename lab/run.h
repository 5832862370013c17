// Run: a lab for the lifetime of one command. `heddle lab run` calls it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/lab.h"

namespace heddle::lab {

// Waits for the command, which finds the lab by HEDDLE_LAB in its environment. A signal that comes
// meanwhile is passed on to it. When the command has ended, its own children that still live are
// ended too. `tell` hears once if
// what makes the lab's delays dies meanwhile. Returns its exit status, 128 and the signal's number
// if one ended it. Errors: kUnavailable where it cannot be started.
Result<int> run_command(const Lab& lab, const std::vector<std::string>& words,
                        const std::function<void(const std::string&)>& tell);

// From now on, records SIGINT, SIGTERM and SIGHUP instead of ending this process.
void note_signals();
// The first recorded signal; 0: none.
int noted_signal();

}  // namespace heddle::lab
