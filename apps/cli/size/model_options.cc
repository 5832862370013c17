// See model_options.h.
#include "apps/cli/size/model_options.h"

#include "apps/cli/size/quantity_options.h"
#include "planner/presets.h"

namespace heddle::cli {
namespace {

constexpr uint64_t kMostParameters = 1'000'000'000'000'000;

}  // namespace

void add_model_options(CLI::App& command, ModelOptions& options) {
  CLI::Option* const model =
      command.add_option("--model", options.model, "a preset, a config.json or a TOML file");
  model->type_name("NAME|FILE");
  add_count(command, "--parameters", options.parameters,
            "of the model, where its shape is not known", kMostParameters)
      ->excludes(model);
}

void require_model(const ModelOptions& options) {
  if (options.model.empty() && options.parameters == 0) {
    throw CLI::RequiredError("--model or --parameters");
  }
}

Result<planner::ModelShape> model_of(const ModelOptions& options) {
  if (!options.model.empty()) return planner::find_model(options.model);
  planner::ModelShape model{.name = "a model", .source = "--parameters"};
  model.parameters_alone = options.parameters;
  return model;
}

}  // namespace heddle::cli
