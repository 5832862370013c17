// PageText: a page as help on a terminal, 80 columns wide.
#pragma once

#include <string>

#include "apps/cli/command_line/page.h"

namespace heddle::cli {

// All of it: `heddle perf --help`.
std::string help_text(const Page& page);
// Only what it is and which commands there are: `heddle`.
std::string short_help_text(const Page& page);

// The text broken between words so that no line is longer than `width`, each indented but the
// first.
std::string wrapped(const std::string& text, size_t indent, size_t width = 80);

}  // namespace heddle::cli
