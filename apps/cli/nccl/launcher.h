// Launcher: what `heddle run`, or `heddle nccl drive` itself, gives to a rank that it starts: its
// number, a folder that all ranks share, and one standard error for all of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heddle::cli {

// A variable's whole number; nothing where it is unset or no number.
std::optional<int> environment_number(const char* name);

// A folder that all ranks of a launcher's run share: beside the file of its store. Empty: no
// launcher started this process, or one that has no such folder.
std::string launcher_folder();

// Whether this rank is to print an error of this text: the first of a launcher's run that asks is,
// and each where no launcher started it.
bool first_to_report(std::string_view text);

}  // namespace heddle::cli
