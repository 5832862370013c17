// Exec: replaces this process by a program on a host of a lab. The program runs in the host's
// network namespace and sees the host's name and a file /etc/hosts with all names of the lab.
#pragma once

#include <string>
#include <vector>

#include "base/exec.h"
#include "lab/lab.h"

namespace heddle::lab {

// Returns only failures: kInvalid for a host that does not exist, kPermission, kUnavailable for a
// program that cannot be started.
ExecFailure exec_on_host(const Lab& lab, const std::string& host,
                         const std::vector<std::string>& words, const std::string& file = {});

}  // namespace heddle::lab
