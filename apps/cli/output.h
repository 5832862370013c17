// Output of commands that show what was recorded: into a file or to standard output.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle::cli {

// Into the file, or where none is named, to standard output. Errors: kSystem.
Result<void> write_output(const std::string& file, const std::string& text);

}  // namespace heddle::cli
