// Old spellings of options: those that a present option replaces one for one go on working; for the
// others an error names what to write. An option that is there and took a value once is among them.
#pragma once

#include <string>
#include <string_view>

namespace heddle::cli {

struct OldSpelling {
  std::string_view command;  // "lab up"; empty: any command
  std::string_view option;   // as it was: "--name"
  std::string_view now;      // the option that takes its place; empty: none does
  std::string_view todo;     // where none does: what to write
};

// What was once an option of the command; null where it never was one.
const OldSpelling* find_old_spelling(const std::string& command, const std::string& option);

}  // namespace heddle::cli
