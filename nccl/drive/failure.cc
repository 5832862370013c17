// Failure of a drive: see failure.h.
#include "nccl/drive/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <string>

namespace heddle::nccl {
namespace {

constexpr const char* kKey = "failed";

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

ErrorCode code_of(const std::string& digits) {
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  constexpr int kLast = static_cast<int>(ErrorCode::kSystem);
  return static_cast<ErrorCode>(std::clamp(number, 0, kLast));
}

}  // namespace

Error publish_failure(Exchange& exchange, int rank, const Error& error) {
  const std::string text =
      fmt::format("{}\n{}\n{}\n{}\n{}\n", rank, static_cast<int>(error.code), one_line(error.what),
                  one_line(error.why), one_line(error.todo));
  if (exchange.put(kKey, text)) return error;
  const Result<std::optional<Error>> first = read_failure(exchange);
  return first && *first ? **first : error;
}

Result<std::optional<Error>> read_failure(Exchange& exchange) {
  const Result<std::optional<std::string>> text = exchange.get(kKey);
  if (!text) return fail(text.error());
  if (!*text) return std::optional<Error>();
  std::istringstream lines(**text);
  std::array<std::string, 5> parts;
  for (std::string& each : parts) std::getline(lines, each);
  const auto& [rank, code, what, why, todo] = parts;
  Error error{code_of(code), fmt::format("rank {} failed", rank), what, todo};
  if (!why.empty()) error.why += ": " + why;
  if (error.code == ErrorCode::kCancelled) {
    error = {error.code, fmt::format("rank {} was stopped", rank), "",
             "delete the folder before the next run"};
  }
  return std::optional<Error>(std::move(error));
}

}  // namespace heddle::nccl
