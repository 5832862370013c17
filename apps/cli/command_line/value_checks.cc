// Value checks: see value_checks.h.
#include "apps/cli/command_line/value_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apps/cli/command_line/spelling.h"
#include "base/quantity.h"
#include "metrics/server.h"

namespace heddle::cli {
namespace {

// An error as CLI11 wants it: empty is none.
template <typename Value>
std::string complaint(const Result<Value>& parsed) {
  if (parsed) return {};
  const Error& error = parsed.error();
  std::string text = error.what;
  if (!error.why.empty()) text += ": " + error.why;
  if (!error.todo.empty()) text += "; " + error.todo;
  return text;
}

template <typename Check>
CLI::Validator check(Check&& accepts) {
  return {[accepts = std::forward<Check>(accepts)](std::string& text) { return accepts(text); },
          ""};
}

}  // namespace

CLI::Validator whole_number(uint64_t least, uint64_t most) {
  return check([=](const std::string& text) { return refuse_whole_number(text, least, most); });
}

CLI::Validator one_of(std::vector<std::string> names) {
  return check([names = std::move(names)](const std::string& text) -> std::string {
    if (std::find(names.begin(), names.end(), text) != names.end()) return {};
    const std::string meant = nearest(text, names);
    const std::string hint = meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant);
    return fmt::format("'{}' is not {}{}", text, alternatives_text(names), hint);
  });
}

CLI::Validator size_value(uint64_t least, std::string also) {
  return check([least, also = std::move(also)](const std::string& text) -> std::string {
    if (!also.empty() && text == also) return {};
    const Result<Bytes> size = parse_size(text);
    if (!size || size->count >= least) return complaint(size);
    return fmt::format("'{}' is too small: give at least {}", text, size_text(least));
  });
}

CLI::Validator message_size_value(std::string also) {
  return check([also = std::move(also)](const std::string& text) -> std::string {
    if (!also.empty() && text == also) return {};
    return complaint(parse_message_size(text));
  });
}

CLI::Validator duration_value(Nanos least, std::string also) {
  return check([least, also = std::move(also)](const std::string& text) -> std::string {
    if (!also.empty() && text == also) return {};
    const Result<Nanos> duration = parse_duration(text);
    if (!duration || *duration >= least) return complaint(duration);
    if (least == nanos(1)) return fmt::format("'{}' is no duration above zero", text);
    return fmt::format("'{}' is too short: give at least {}", text, duration_text(least));
  });
}

CLI::Validator listen_address_value() {
  return check([](const std::string& text) -> std::string {
    const auto at = metrics::parse_listen_address(text);
    return at ? "" : at.error().what + ": " + at.error().todo;
  });
}

std::string choices_text(std::span<const std::string_view> names) {
  return fmt::format("{}", fmt::join(names, "|"));
}

std::string choices_text(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, "|"));
}

std::string alternatives_text(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace heddle::cli
