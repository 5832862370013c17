// See model_options.h.
#include "apps/cli/size/model_options.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "apps/cli/size/params.h"
#include "planner/presets.h"

namespace heddle::cli {
namespace {

// "8000000000", "8B" or "1.5T" as models are named: M is a million, B a billion, T a trillion.
std::optional<uint64_t> parameters_of(std::string_view text) {
  double factor = 1;
  if (text.ends_with('M')) factor = 1e6;
  if (text.ends_with('B')) factor = 1e9;
  if (text.ends_with('T')) factor = 1e12;
  if (factor > 1) text.remove_suffix(1);
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  const double value = std::round(number * factor);
  if (!(value >= 1 && value <= static_cast<double>(params::size::kMostParameters))) return {};
  if (factor == 1 && value != number) return {};
  return static_cast<uint64_t>(value);
}

std::string refuse_parameters(const std::string& text) {
  if (parameters_of(text)) return {};
  return fmt::format("'{}' is no number of parameters from 1 to 1000T, like 8B", text);
}

}  // namespace

CLI::Option* add_shape_option(CLI::App& command, ModelOptions& options) {
  return command.add_option("--model", options.model, "a preset, a config.json or a TOML file")
      ->type_name("NAME|FILE");
}

void add_model_options(CLI::App& command, ModelOptions& options) {
  CLI::Option* const model = add_shape_option(command, options);
  const auto take = [&options](const std::string& text) {
    options.parameters = *parameters_of(text);
  };
  command
      .add_option_function<std::string>("--parameters", take,
                                        "of the model, where its shape is not known, like 8B")
      ->type_name("N")
      ->check(CLI::Validator(refuse_parameters, ""))
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
