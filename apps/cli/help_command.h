// `heddle help`: help of a command, lists of settings and exit statuses, and all of it as Markdown
// and as man pages.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_help_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
