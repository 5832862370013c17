// CSV as plans read it: lines of fields, with the names of columns in the first.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::cli {

// Fields of a line; quoted ones may contain commas and doubled quotes.
std::vector<std::string> csv_fields(const std::string& line);

std::optional<uint64_t> csv_number(const std::string& text);

// A file that has these columns, wherever they stand; others are ignored.
struct CsvTable {
  std::string file;
  std::vector<std::string> columns;
  std::string advice;  // of errors: what to give instead
};

// Calls use(fields, line), with fields in the order of the columns. What it returns is what is
// wrong with the line; empty: nothing. Errors: kUnavailable, kInvalid with the line.
Result<void> read_csv(
    const CsvTable& table,
    const std::function<std::string(const std::vector<std::string>& fields)>& use);

}  // namespace heddle::cli
