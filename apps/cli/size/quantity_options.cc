// See quantity_options.h.
#include "apps/cli/size/quantity_options.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "apps/cli/command_line/value_checks.h"
#include "base/quantity.h"
#include "topology/quantity.h"

namespace heddle::cli {
namespace {

// As one types it: "25M".
std::string as_option(uint64_t bytes) {
  const std::string text = size_text(bytes);
  const size_t space = text.find(' ');
  return space == text.npos || text[space + 1] == 'B' ? std::to_string(bytes)
                                                      : text.substr(0, space) + text[space + 1];
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

std::optional<double> share_of(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const std::optional<double> value = number_of(text);
  if (!value) return {};
  const double share = percent ? *value / 100 : *value;
  return share >= 0 && share < 1 ? std::optional(share) : std::nullopt;
}

}  // namespace

CLI::Option* add_number(CLI::App& command, const std::string& name, double& value,
                        const std::string& about, NumberRange range) {
  const auto refuse = [range](const std::string& text) -> std::string {
    const std::optional<double> number = number_of(text);
    if (number && *number >= range.least && *number <= range.most) return {};
    return fmt::format("'{}' is no number from {} to {}", text, range.least, range.most);
  };
  return command
      .add_option_function<std::string>(
          name, [&value](const std::string& text) { value = *number_of(text); }, about)
      ->type_name("N")
      ->check(CLI::Validator(refuse, ""))
      ->default_str(fmt::format("{}", value));
}

CLI::Option* add_count(CLI::App& command, const std::string& name, uint64_t& value,
                       const std::string& about, uint64_t most) {
  CLI::Option* const option =
      command.add_option(name, value, about)->type_name("N")->check(whole_number(1, most));
  return value > 0 ? option->capture_default_str() : option;
}

CLI::Option* add_share(CLI::App& command, const std::string& name, double& value,
                       const std::string& about) {
  const auto refuse = [](const std::string& text) -> std::string {
    if (share_of(text)) return {};
    return fmt::format("'{}' is no share from 0 to below 1, like 0.01% or 1e-4", text);
  };
  return command
      .add_option_function<std::string>(
          name, [&value](const std::string& text) { value = *share_of(text); }, about)
      ->type_name("SHARE")
      ->check(CLI::Validator(refuse, ""))
      ->default_str(fmt::format("{}", value));
}

CLI::Option* add_rate(CLI::App& command, const std::string& name, double& value,
                      const std::string& about) {
  const auto refuse = [](const std::string& text) -> std::string {
    if (topology::parse_rate(text)) return {};
    return fmt::format("'{}' is no rate from 1kbit/s to 100Tbit/s, like 400Gbit/s or 1.6T", text);
  };
  const auto take = [&value](const std::string& text) {
    value = static_cast<double>(topology::parse_rate(text)->count);
  };
  return command.add_option_function<std::string>(name, take, about)
      ->type_name("RATE")
      ->check(CLI::Validator(refuse, ""))
      ->default_str(fmt::format("{}Gbit/s", value / 1e9));
}

CLI::Option* add_size(CLI::App& command, const std::string& name, double& value,
                      const std::string& about) {
  const auto take = [&value](const std::string& text) {
    value = static_cast<double>(parse_size(text)->count);
  };
  return command.add_option_function<std::string>(name, take, about)
      ->type_name("SIZE")
      ->check(size_value(1))
      ->default_str(value > 0 ? as_option(static_cast<uint64_t>(value)) : "none");
}

CLI::Option* add_time(CLI::App& command, const std::string& name, double& value,
                      const std::string& about) {
  const auto take = [&value](const std::string& text) {
    value = 1e-9 * static_cast<double>(parse_duration(text)->count);
  };
  return command.add_option_function<std::string>(name, take, about)
      ->type_name("DURATION")
      ->check(duration_value(Nanos{}))
      ->default_str(duration_text(Nanos{std::llround(value * 1e9)}));
}

}  // namespace heddle::cli
