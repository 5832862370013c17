// `heddle plan keep`: keeps a plan in memory, and its file, while links and flows change.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_keep_command(CLI::App& plan, Invocation& invocation);

}  // namespace heddle::cli
