// The command line of this process, for commands that start themselves anew as ranks.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::launch {

// As it was given.
std::vector<std::string> command_line();

// Without options that are not for ranks, "--ranks" and so on, and their values. The first word is
// "heddle", which lists of processes and titles of recordings show; own_file() is executed for it.
std::vector<std::string> own_words(std::span<const std::string_view> without = {});

// The file of this program, wherever it is.
std::string own_file();

}  // namespace heddle::launch
