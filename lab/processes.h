// Processes of a lab: those that run in its namespaces, found by looking through /proc, stopped,
// continued or ended.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::lab {

// Every process that is in one of these namespaces (names under /run/netns), without this one.
std::vector<pid_t> processes_in(const std::vector<std::string>& namespaces);

// Ends them all, and those that they start meanwhile. Errors: kSystem, where one does not die.
Result<void> end_processes_in(const std::vector<std::string>& namespaces);

// Stops (SIGSTOP) or continues (SIGCONT) all processes of one namespace; returns how many.
size_t signal_processes_in(const std::string& netns, bool stop);

// Every descendant of this process.
std::vector<pid_t> descendants();

}  // namespace heddle::lab
