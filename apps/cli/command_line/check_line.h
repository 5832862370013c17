// CheckLine: finds the first wrong word of a command line, from left to right, before CLI11 reads
// it: CLI11 reports what is missing before what is wrong, and names no word that was meant.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

namespace heddle::cli {

// What is wrong with a command line, and what to do about it.
struct LineError {
  std::string why;
  std::string todo;
};

struct CheckedLine {
  CLI::App* command = nullptr;  // the one that the words name
  bool wants_help = false;      // the line has --help, and no error before it
  bool wants_version = false;
  std::optional<LineError> error;
};

// Old spellings in `words` (without the program's name) are replaced by those of today.
CheckedLine check_line(CLI::App& root, std::vector<std::string>& words);

// What the option's checks say of a value; empty: it can be one.
std::string refusal(CLI::Option& option, const std::string& value);

}  // namespace heddle::cli
