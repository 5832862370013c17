// Answer: the result of a sizing question. Every figure carries its formula, the terms that went
// into it with their units, and its source, so that a reader can do the arithmetic again. The
// planner's functions make answers; apps print them as text, JSON or a page.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace heddle::planner {

// A value that a formula uses. `unit` is empty for pure numbers.
struct Term {
  std::string symbol;
  std::string meaning;
  double value = 0;
  std::string unit;
};

// A figure. `formula` is arithmetic over the symbols of `terms` (+ - * / ** min max ceil floor
// sqrt) whose value is `value`; a test evaluates the formulas of every command.
struct Figure {
  std::string name;  // ends in its unit, as fields of JSON do: "data_nic_bytes"
  std::string meaning;
  std::string formula;
  std::vector<Term> terms;
  double value = 0;
  std::string unit;  // "B", "s", "b/s", "km", or empty
  std::string source;
};

// Columns are named like figures, with units last.
struct Column {
  std::string name;
  std::string title;
  std::string unit;
};
using Cell = std::variant<std::string, double>;

struct Table {
  std::string name;
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Axis {
  std::string title;
  std::string unit;
  bool logarithmic = false;
};

struct Chart {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Curve> curves;
};

struct Answer {
  std::string title;
  std::vector<Figure> figures;
  std::vector<Table> tables;
  std::vector<Chart> charts;
  std::vector<std::string> advice;       // what follows, and what to change
  std::vector<std::string> assumptions;  // what the formulas take for granted
  bool sound = true;  // false: what was asked for does not fit; advice has the remedy

  // The figure of that name; CHECKs that there is one.
  const Figure& figure(const std::string& name) const;
};

}  // namespace heddle::planner
