// Processes of a lab: finds the processes in its namespaces by scanning /proc; stops, continues or
// ends them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::lab {

// All processes in these namespaces (names under /run/netns), except this one.
std::vector<pid_t> processes_in(const std::vector<std::string>& namespaces);

// Ends them, and processes that they start meanwhile. Errors: kSystem if one does not end.
Result<void> end_processes_in(const std::vector<std::string>& namespaces);

// Stops (SIGSTOP) or continues (SIGCONT) all processes of a namespace; returns their number.
size_t signal_processes_in(const std::string& netns, bool stop);

// All descendants of this process.
std::vector<pid_t> descendants();

}  // namespace heddle::lab
