// See answer_report.h.
#include "apps/cli/size/answer_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "apps/cli/terminal.h"
#include "base/quantity.h"
#include "base/version.h"

namespace heddle::cli {
namespace {

using planner::Answer;
using planner::Axis;
using planner::Cell;
using planner::Chart;
using planner::Column;
using planner::Curve;
using planner::Figure;
using planner::Table;
using planner::Term;

constexpr double kLargestCount = 1e18;
constexpr double kLongest = 1e9;  // seconds

std::string cell_text(const Cell& cell, const std::string& unit) {
  if (const auto* const text = std::get_if<std::string>(&cell)) return *text;
  return figure_value_text(std::get<double>(cell), unit);
}

std::string figure_text(const Figure& figure) {
  std::string text = fmt::format("{}: {}\n  = {}\n", figure.meaning,
                                 figure_value_text(figure.value, figure.unit), figure.formula);
  size_t width = 0;
  for (const Term& term : figure.terms) width = std::max(width, term.symbol.size());
  for (const Term& term : figure.terms) {
    text += fmt::format("    {:<{}}  {}, {}\n", term.symbol, width,
                        figure_value_text(term.value, term.unit), term.meaning);
  }
  return text + fmt::format("  source: {}\n", figure.source);
}

std::string table_text(const Table& table) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    widths.push_back(table.columns[i].title.size());
    for (const auto& row : table.rows) {
      widths[i] = std::max(widths[i], cell_text(row[i], table.columns[i].unit).size());
    }
  }
  std::string text = table.title + "\n";
  const auto add = [&](const auto& text_of) {
    std::string line = " ";
    for (size_t i = 0; i < widths.size(); ++i) {
      line += fmt::format(" {:<{}}", text_of(i), widths[i] + 1);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add([&](size_t i) { return table.columns[i].title; });
  for (const auto& row : table.rows) {
    add([&](size_t i) { return cell_text(row[i], table.columns[i].unit); });
  }
  return text;
}

std::string lines_text(const char* title, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += fmt::format("{}: {}\n", title, line);
  return text;
}

Json json_of(const Figure& figure) {
  Json terms = Json::array();
  for (const Term& term : figure.terms) {
    terms.push_back({{"symbol", term.symbol},
                     {"meaning", term.meaning},
                     {"value", term.value},
                     {"unit", term.unit}});
  }
  return {{"name", figure.name},    {"meaning", figure.meaning}, {"value", figure.value},
          {"unit", figure.unit},    {"formula", figure.formula}, {"terms", terms},
          {"source", figure.source}};
}

Json json_of(const Table& table) {
  Json columns = Json::array();
  for (const Column& column : table.columns) {
    columns.push_back({{"name", column.name}, {"title", column.title}, {"unit", column.unit}});
  }
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row) {
      std::visit([&cells](const auto& value) { cells.push_back(value); }, cell);
    }
    rows.push_back(cells);
  }
  return {{"name", table.name}, {"title", table.title}, {"columns", columns}, {"rows", rows}};
}

Json json_of(const Axis& axis) {
  return {{"title", axis.title}, {"unit", axis.unit}, {"logarithmic", axis.logarithmic}};
}

Json json_of(const Chart& chart) {
  Json curves = Json::array();
  for (const Curve& curve : chart.curves) {
    Json points = Json::array();
    for (const auto& [x, y] : curve.points) points.push_back(Json::array({x, y}));
    curves.push_back({{"name", curve.name}, {"points", points}});
  }
  return {
      {"title", chart.title}, {"x", json_of(chart.x)}, {"y", json_of(chart.y)}, {"curves", curves}};
}

template <typename Parts>
Json all_of(const Parts& parts) {
  Json all = Json::array();
  for (const auto& part : parts) all.push_back(json_of(part));
  return all;
}

// Large ones without their fraction, as "1,006".
std::string fraction_text(double value) {
  if (!(std::abs(value) >= 1'000) || !(std::abs(value) < kLargestCount)) {
    return fmt::format("{:.6g}", value);
  }
  const std::string whole = count_text(static_cast<uint64_t>(std::llround(std::abs(value))));
  return (value < 0 ? "-" : "") + whole;
}

}  // namespace

std::string figure_value_text(double value, const std::string& unit) {
  if (unit == "b/s") return rate_text(value);
  if (unit == "B/s") return byte_rate_text(8 * value);
  if (unit == "s" && value < kLongest) return duration_text(Nanos{std::llround(value * 1e9)});
  const bool whole = unit == "B" || value == std::floor(value);
  const std::string number = whole && value >= 0 && value < kLargestCount
                                 ? count_text(static_cast<uint64_t>(std::llround(value)))
                                 : fraction_text(value);
  return unit.empty() ? number : number + " " + unit;
}

std::string answer_text(const Answer& answer) {
  std::string text = answer.title + "\n" + lines_text("advice", answer.advice);
  for (const Table& table : answer.tables) text += "\n" + table_text(table);
  for (const Figure& figure : answer.figures) text += "\n" + figure_text(figure);
  return text + "\n" + lines_text("assumed", answer.assumptions);
}

Json answer_document(const Answer& answer) {
  return {{"heddle", kVersion},
          {"title", answer.title},
          {"sound", answer.sound},
          {"figures", all_of(answer.figures)},
          {"tables", all_of(answer.tables)},
          {"charts", all_of(answer.charts)},
          {"advice", answer.advice},
          {"assumptions", answer.assumptions}};
}

int print_answer(const Result<Answer>& answer, bool json) {
  if (!answer) {
    print_error(answer.error());
    return kCouldNotRun;
  }
  print(json ? answer_document(*answer).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
             : answer_text(*answer));
  return answer->sound ? kDone : kFoundWrong;
}

}  // namespace heddle::cli
