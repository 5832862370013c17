// The command line of this process, for commands that start themselves anew as ranks.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {

// As it was given.
std::vector<std::string> command_line();

// Without options that are not for ranks, "--ranks" and so on, and their values; the program is
// this one, wherever it is.
std::vector<std::string> own_words(std::span<const std::string_view> without = {});

}  // namespace heddle::cli
