// `heddle probe`: finds what connects hosts, and what is wrong with it.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_probe_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
