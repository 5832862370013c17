// A job as the text of a workload file, whatever it was read from: its ranks, word by word.
#pragma once

#include <string>

#include "topology/job.h"

namespace heddle::topology {

// A [[job]] of kind "program" without hosts, which takes those of whatever topology it meets.
// Communicators that a rank has at the same place must have the same name.
std::string job_text(const Job& job);

}  // namespace heddle::topology
