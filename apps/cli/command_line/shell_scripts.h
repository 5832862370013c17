// Shell scripts: each asks the program what may follow, and hands it to its shell.
#pragma once

#include <string_view>

namespace heddle::cli {

// The script for "bash", "zsh" or "fish"; empty for another shell.
std::string_view completion_script(std::string_view shell);

}  // namespace heddle::cli
