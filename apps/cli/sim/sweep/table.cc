// Rows of a sweep as text: see table.h.
#include "apps/cli/sim/sweep/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "apps/cli/sim/sweep/variations.h"
#include "base/printable.h"
#include "base/quantity.h"

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
  return duration_text(nanos(static_cast<int64_t>(*us * 1e3 + 0.5)));
}

std::string number_text(std::optional<double> number) {
  if (!number || !(*number >= 0 && *number < 1e18)) return "-";
  return count_text(static_cast<uint64_t>(*number));
}

using Rows = std::vector<const json*>;

// True if flows arrived, failed or did not end.
bool has_flows(const json& row) {
  for (const char* name : {"flows_arrived", "flows_failed", "flows_unfinished"}) {
    if (number_at(row, "", name).value_or(0) > 0) return true;
  }
  return false;
}

// --- jobs: those of one name, or of one place among several of one name, are one ---

std::vector<std::pair<std::string, const json*>> jobs_of(const json& row) {
  std::vector<std::pair<std::string, const json*>> all;
  std::map<std::string, int> times;
  const auto jobs = row.find("jobs");
  if (jobs == row.end() || !jobs->is_array()) return all;
  for (const json& job : *jobs) {
    if (!job.is_object()) continue;
    std::string name = text_at(job, "name");
    const int number = ++times[name];
    if (number > 1) name += fmt::format(" #{}", number);
    all.emplace_back(std::move(name), &job);
  }
  return all;
}

Names job_names(const std::vector<json>& rows) {
  Names names;
  for (const json& row : rows) {
    for (const auto& [name, job] : jobs_of(row)) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

double sum_at(const json& job, const char* name) {
  double sum = 0;
  for (const json& step : job.value("steps", json::array())) {
    sum += number_at(step, "", name).value_or(0);
  }
  return sum;
}

// Steps of all runs together, how much of them was exposed, and what never came to an end.
Line job_figures(const Rows& rows, const std::string& wanted) {
  std::vector<double> steps;
  std::vector<double> again;
  size_t runs = 0;
  double took = 0;
  double exposed = 0;
  double missing = 0;
  for (const json* row : rows) {
    for (const auto& [name, job] : jobs_of(*row)) {
      if (name != wanted) continue;
      ++runs;
      for (const json& step : job->value("steps", json::array())) {
        if (const auto each = number_at(step, "", "took_us")) steps.push_back(*each);
      }
      took += sum_at(*job, "took_us");
      exposed += sum_at(*job, "exposed_us");
      missing += number_at(*job, "", "ranks").value_or(0);
      missing -= number_at(*job, "", "ranks_done").value_or(0);
      if (const auto each = number_at(*row, "counters", "segments_retransmitted")) {
        again.push_back(*each);
      }
    }
  }
  std::sort(steps.begin(), steps.end());
  std::sort(again.begin(), again.end());
  if (runs == 0) return {};
  Line line = {count_text(runs), "-", "-", "-", "-"};
  if (!steps.empty()) {
    line = {line[0], micros_text(steps.front()), micros_text(middle(steps)),
            micros_text(steps.back()),
            took > 0 ? fmt::format("{:.1f}%", exposed / took * 100) : "-"};
  }
  line.push_back(number_text(middle(again)));
  line.push_back(number_text(missing));
  return line;
}

// --- flows ---

Line flow_figures(const Rows& rows) {
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
  line.push_back(number_text(median("counters", "segments_retransmitted")));
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
  std::map<Line, Rows, decltype(less)> groups(less);
  for (const json& row : rows) groups[values(row, names)].push_back(&row);
  const auto line_of = [](Line group, const Line& figures) {
    for (std::string& value : group) value = printable(value);
    group.insert(group.end(), figures.begin(), figures.end());
    return group;
  };
  const Names jobs = job_names(rows);
  std::string text;
  if (jobs.empty() || std::any_of(rows.begin(), rows.end(), has_flows)) {
    std::vector<Line> lines = {
        line_of(names, {"runs", "least tail", "median tail", "most tail", "median flow", "goodput",
                        "retransmitted", "not arrived"})};
    for (const auto& [group, members] : groups) {
      const bool any = std::any_of(members.begin(), members.end(),
                                   [](const json* row) { return has_flows(*row); });
      if (any || jobs.empty()) lines.push_back(line_of(group, flow_figures(members)));
    }
    text = aligned(lines, names.size());
  }
  if (jobs.empty()) return text;
  std::vector<Line> lines = {
      line_of(names, {"job", "runs", "least step", "median step", "most step", "exposed",
                      "retransmitted", "ranks not done"})};
  for (const auto& [group, members] : groups) {
    for (const std::string& job : jobs) {
      const Line figures = job_figures(members, job);
      if (figures.empty()) continue;
      lines.push_back(line_of(line_of(group, {printable(job)}), figures));
    }
  }
  return text + (text.empty() ? "" : "\n") + aligned(lines, names.size() + 1);
}

}  // namespace heddle::cli
