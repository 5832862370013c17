// Actions of a program as words: "compute 3ms", "all_reduce data 25MB ring as b0", "wait b0".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "topology/job.h"

namespace heddle::topology {

// The action; labels that are new go to the program. `communicators` are the names at their places.
// Errors: kInvalid, with why and what to do.
Result<Action> parse_action(std::string_view text, const std::vector<std::string>& communicators,
                            Program& program);
// What parse_action() reads as this action.
std::string text_of(const Action& action, const std::vector<std::string>& communicators,
                    const Program& program);

}  // namespace heddle::topology
