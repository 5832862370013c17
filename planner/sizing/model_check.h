// The last step of reading a model's shape: defaults, and what cannot be.
#pragma once

#include <string>

#include "base/result.h"
#include "planner/model_shape.h"

namespace heddle::planner {

// Fills key_value_heads and head_dim where they are 0. Errors: kInvalid, naming file and value.
Result<ModelShape> check_model(ModelShape model, const std::string& file);

}  // namespace heddle::planner
