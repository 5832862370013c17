// Model shapes from files: heddle's TOML, and config.json as Hugging Face's hub has it beside a
// model's weights.
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"
#include "base/result.h"
#include "planner/model_shape.h"

namespace heddle::planner {

// A table with the keys of docs/how-to/size_a_cluster.md. `file` is named in errors. Errors:
// kInvalid with file, line and key: an unknown key, a missing one, a size that cannot be.
Result<ModelShape> read_model(const DocumentValue& table, const std::string& file);

// The text of a config.json. Errors: kInvalid: not JSON, a model_type whose parameters are not
// known here, a missing or impossible value.
Result<ModelShape> read_hugging_face(std::string_view text, const std::string& file);

// By the end of its name: .json, else TOML. Errors: also kUnavailable, if it cannot be read.
Result<ModelShape> read_model_file(const std::string& file);

}  // namespace heddle::planner
