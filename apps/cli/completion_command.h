// `heddle completion bash|zsh`: a script that completes commands, options and their known values.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_completion_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
