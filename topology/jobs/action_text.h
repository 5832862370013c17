// Actions of a program as text: "compute 3ms", "all_reduce data 25MB ring as b0", "wait b0".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "topology/job.h"

namespace heddle::topology {

// The places of a program's labels.
using LabelPlaces = std::unordered_map<std::string, uint32_t>;

// Parses an action; new labels are added to the program and to `labels`, which is the program's and
// empty before the first action. `communicators` has their names by index. Errors: kInvalid, with
// cause and advice.
Result<Action> parse_action(std::string_view text, const std::vector<std::string>& communicators,
                            Program& program, LabelPlaces& labels);
// Writes an action in the form that parse_action() reads.
std::string text_of(const Action& action, const std::vector<std::string>& communicators,
                    const Program& program);

}  // namespace heddle::topology
