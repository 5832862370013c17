// Option text: how an option or an argument of a command is written, wherever it is shown.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace heddle::cli {

// "-p, --port", or of an argument "HOST[:PORT]".
std::string names_text(const CLI::Option& option);
// "--port", or of an argument "HOST[:PORT]": for sentences.
std::string short_name(const CLI::Option& option);
// "PORT"; empty for a flag.
std::string value_text(const CLI::Option& option);
// "-p, --port PORT", "--protect[=LEVEL]"; of an argument "HOST[:PORT]".
std::string usage_text(const CLI::Option& option);
// What it is for, and at its end its default: "number of rounds (default: no end)".
std::string doc_text(const CLI::Option& option);
// Whether the option is shown at all.
bool is_shown(const CLI::Option& option);
// Whether several words may follow as its values.
bool takes_several(const CLI::Option& option);

}  // namespace heddle::cli
