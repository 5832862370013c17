// Tool: runs one of the system's programs (ip, tc, nft, ethtool) with a text on its standard input,
// and returns its output.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::lab {

// Runs `words` to completion and returns its standard output. Errors: kUnavailable if the program
// does not exist; kSystem if it failed, with the last line of its standard error.
Result<std::string> run_tool(const std::vector<std::string>& words, const std::string& input = {});

// Passes a text to `ip -batch` or `tc -batch`, or to `nft -f`; an empty text runs nothing. Errors:
// as run_tool().
Result<void> run_batch(std::vector<std::string> tool, const std::string& text);
Result<void> run_filter(const std::string& text);

// The path of a program, looked for as execvp(3) does; empty: it is not installed.
std::string find_program(const std::string& program);

// Errors: kUnavailable for the first missing program, or file, that a lab needs.
Result<void> check_tools();

}  // namespace heddle::lab
