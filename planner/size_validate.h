// Validation: published measurements beside what the formulas give for them.
#pragma once

#include "planner/answer.h"

namespace heddle::planner {

// Each row with its error; figures: the constants, and the median of the errors' sizes.
Answer size_validate();

}  // namespace heddle::planner
