// Constants of judgement of the command line: unit, source, range.
#pragma once

#include <cstddef>

namespace heddle::cli::params::command_line {

// An option that may have more values takes any number (line_cursor.cc). CLI11's own number for
// "any number" is 2^29. Range: 64 to 2^28.
inline constexpr int kMany = 1 << 10;
// Letters of a list of choices; a longer one is moved into the description and replaced by a name
// (option_text.cc). Chosen: a help text of 80 columns. Range: 16 to 40.
inline constexpr size_t kLongestChoices = 30;
// Letters of the first column of a help text; a longer term has a line of its own (page_text.cc).
// Chosen: a third of 80 columns. Range: 16 to 40.
inline constexpr size_t kWidestTerm = 26;
// Letters from which on the beginning of a name counts as meant (spelling.cc). Chosen: one letter
// begins many. Range: 2 to 4.
inline constexpr size_t kShortestBeginning = 2;

}  // namespace heddle::cli::params::command_line
