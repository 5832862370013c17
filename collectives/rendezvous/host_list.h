// Host lists as Slurm writes them: "n[0-3,7],gpu[01-10]-ib,login". Slurm's scontrol expands them
// too, but is not there on every host, and a process that starts should not start another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heddle::collectives {

// The names in their order; a number keeps the zeros before it. Several brackets in one name count
// like digits, the last fastest. Errors: kInvalid (empty, brackets or numbers that make no sense,
// more than kMostRanks names).
Result<std::vector<std::string>> expand_host_list(std::string_view text);

}  // namespace heddle::collectives
