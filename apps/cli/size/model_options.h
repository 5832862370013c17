// The options of `heddle size` that name a model.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "planner/model_shape.h"

namespace heddle::cli {

struct ModelOptions {
  std::string model;
  uint64_t parameters = 0;
};

// Adds --model. `options` must outlive the command.
CLI::Option* add_shape_option(CLI::App& command, ModelOptions& options);
// Adds --model and --parameters, for questions that need no shape.
void add_model_options(CLI::App& command, ModelOptions& options);
// To call as the command line is parsed. Throws CLI::RequiredError where neither is given.
void require_model(const ModelOptions& options);
// Errors: kInvalid: no such preset or file, or one that cannot be read.
Result<planner::ModelShape> model_of(const ModelOptions& options);

}  // namespace heddle::cli
