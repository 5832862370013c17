// Tool: runs one of the system's own programs (ip, tc, nft, ethtool) with a text on its standard
// input, and keeps what it said.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::lab {

// Runs `words` to its end and returns its standard output. Errors: kUnavailable where the program
// is not there; kSystem where it ended badly, with the last line of its standard error.
Result<std::string> run_tool(const std::vector<std::string>& words, const std::string& input = {});

// Gives a text to `ip -batch` or `tc -batch`, or to `nft -f`; nothing runs for an empty one.
// Errors: as run_tool().
Result<void> run_batch(std::vector<std::string> tool, const std::string& text);
Result<void> run_filter(const std::string& text);

// Errors: kUnavailable, naming the first of the programs that a lab needs and this host lacks.
Result<void> check_tools();

}  // namespace heddle::lab
