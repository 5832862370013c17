// See csv.h.
#include "apps/cli/plan/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/document.h"

namespace heddle::cli {
namespace {

Unexpected bad_line(const CsvTable& table, size_t line, const std::string& why) {
  return fail(ErrorCode::kInvalid, fmt::format("cannot use {}:{}", table.file, line), why,
              table.advice);
}

}  // namespace

std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[i++];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else if (line[i] != '\r') {
      fields.back() += line[i];
    }
  }
  return fields;
}

std::optional<uint64_t> csv_number(const std::string& text) {
  uint64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<void> read_csv(
    const CsvTable& table,
    const std::function<std::string(const std::vector<std::string>& fields)>& use) {
  const Result<std::string> text = read_text_file(table.file, "check the path of the CSV file");
  if (!text) return fail(text.error());
  std::istringstream lines(*text);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> names = csv_fields(line);
  std::vector<size_t> places;
  for (const std::string& column : table.columns) {
    const auto found = std::find(names.begin(), names.end(), column);
    if (found == names.end()) {
      return bad_line(table, 1, fmt::format("it has no column '{}'", column));
    }
    places.push_back(static_cast<size_t>(found - names.begin()));
  }
  std::vector<std::string> fields(places.size());
  for (size_t number = 2; std::getline(lines, line); ++number) {
    if (line.empty() || line == "\r") continue;
    const std::vector<std::string> all = csv_fields(line);
    if (all.size() != names.size()) {
      return bad_line(table, number,
                      fmt::format("it has {} fields, the first line {}", all.size(), names.size()));
    }
    for (size_t i = 0; i < places.size(); ++i) fields[i] = all[places[i]];
    const std::string wrong = use(fields);
    if (!wrong.empty()) return bad_line(table, number, wrong);
  }
  return {};
}

}  // namespace heddle::cli
