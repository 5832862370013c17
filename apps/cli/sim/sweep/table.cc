// Rows of a sweep as text: see table.h.
#include "apps/cli/sim/sweep/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "apps/cli/output.h"
#include "apps/cli/quantity.h"
#include "apps/cli/sim/sweep/variations.h"

namespace heddle::cli {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;
using Line = std::vector<std::string>;

constexpr const char* kSeed = "seed";

std::string text_at(const json& object, const std::string& name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

Names varied(const std::vector<json>& rows) {
  std::set<std::string> names;
  for (const json& row : rows) {
    for (const auto& [name, value] : row["vary"].items()) names.insert(name);
  }
  return {names.begin(), names.end()};
}

// Values of the names, "" for what a row does not vary.
Line values(const json& row, const Names& names) {
  Line all;
  for (const std::string& name : names) all.push_back(text_at(row["vary"], name));
  return all;
}

bool line_less(const Line& a, const Line& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), natural_less);
}

std::optional<double> number_at(const json& row, const char* group, const char* name) {
  const json* object = &row;
  if (group[0] != '\0') {
    const auto at = row.find(group);
    if (at == row.end() || !at->is_object()) return std::nullopt;
    object = &*at;
  }
  const auto at = object->find(name);
  if (at == object->end() || !at->is_number()) return std::nullopt;
  return at->get<double>();
}

std::vector<double> sorted_numbers(const std::vector<const json*>& rows, const char* group,
                                   const char* name) {
  std::vector<double> numbers;
  for (const json* row : rows) {
    if (const auto number = number_at(*row, group, name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// By nearest rank.
std::optional<double> middle(const std::vector<double>& sorted) {
  if (sorted.empty()) return std::nullopt;
  return sorted[(sorted.size() + 1) / 2 - 1];
}

std::string micros_text(std::optional<double> us) {
  // What a file says may be anything.
  if (!us || !(*us >= 0 && *us < 1e15)) return "-";
  return span_text(nanos(static_cast<int64_t>(*us * 1e3 + 0.5)));
}

std::string number_text(std::optional<double> number) {
  if (!number || !(*number >= 0 && *number < 1e18)) return "-";
  return count_text(static_cast<uint64_t>(*number));
}

Line figures(const std::vector<const json*>& rows) {
  const std::vector<double> tails = sorted_numbers(rows, "", "tail_fct_us");
  const auto median = [&](const char* group, const char* name) {
    return middle(sorted_numbers(rows, group, name));
  };
  double missing = 0;
  for (const char* name : {"flows_failed", "flows_unfinished", "flows_changed"}) {
    for (const double each : sorted_numbers(rows, "", name)) missing += each;
  }
  const std::optional<double> goodput = median("", "goodput_gbits_per_s");
  Line line = {count_text(rows.size())};
  if (tails.empty()) {
    line.insert(line.end(), {"-", "-", "-"});
  } else {
    line.insert(line.end(), {micros_text(tails.front()), micros_text(middle(tails)),
                             micros_text(tails.back())});
  }
  line.push_back(micros_text(median("", "median_fct_us")));
  line.push_back(goodput ? rate_text(*goodput * 1e9) : "-");
  line.push_back(number_text(median("counters", "segments_repeated")));
  line.push_back(number_text(missing));
  return line;
}

std::string aligned(const std::vector<Line>& lines, size_t left) {
  std::vector<size_t> widths(lines.front().size());
  for (const Line& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const Line& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      if (i < left) {
        text += fmt::format("{:<{}}  ", line[i], widths[i]);
      } else {
        text += fmt::format("{:>{}}{}", line[i], widths[i], i + 1 < line.size() ? "  " : "\n");
      }
    }
  }
  return text;
}

}  // namespace

void sort_rows(std::vector<json>& rows) {
  const Names names = varied(rows);
  std::vector<std::pair<Line, json>> keyed;
  for (json& row : rows) {
    Line line = values(row, names);
    line.push_back(text_at(row, "key"));
    keyed.emplace_back(std::move(line), std::move(row));
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return line_less(a.first, b.first); });
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = std::move(keyed[i].second);
}

std::string sweep_table(const std::vector<json>& rows) {
  if (rows.empty()) return "";
  Names names = varied(rows);
  std::erase(names, kSeed);
  const auto less = [](const Line& a, const Line& b) { return line_less(a, b); };
  std::map<Line, std::vector<const json*>, decltype(less)> groups(less);
  for (const json& row : rows) groups[values(row, names)].push_back(&row);
  std::vector<Line> lines = {names};
  lines.front().insert(lines.front().end(),
                       {"runs", "least tail", "median tail", "most tail", "median flow", "goodput",
                        "sent again", "not arrived"});
  for (const auto& [group, members] : groups) {
    lines.emplace_back();
    for (const std::string& value : group) lines.back().push_back(printable(value));
    const Line told = figures(members);
    lines.back().insert(lines.back().end(), told.begin(), told.end());
  }
  return aligned(lines, names.size());
}

}  // namespace heddle::cli
