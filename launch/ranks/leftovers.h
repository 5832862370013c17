// Leftovers: processes that a lost rank has started and that have outlived it. They would go on to
// hold its ports and memory, or even take part in the job, while the other ranks go on without it.
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::launch {

// Whether `environment`, as in /proc/PID/environ, is that of a process which this rank of this run
// started: a process has the variables of its parent unless it was given others.
bool is_of_rank(std::string_view environment, std::string_view run, uint32_t rank);

// Kills those among the descendants of this process, and what they start meanwhile. Takes at most
// 100 ms where one does not end.
void kill_leftovers(std::string_view run, uint32_t rank);

}  // namespace heddle::launch
