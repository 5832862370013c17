// Output of commands that show what was recorded: into a file or to standard output, and names in
// it that are a recorded program's own.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle::cli {

// What a terminal shows and does not obey.
std::string printable(std::string text);
// Into the file, or where none is named, to standard output. Errors: kSystem.
Result<void> write_output(const std::string& file, const std::string& text);

}  // namespace heddle::cli
