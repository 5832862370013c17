// `heddle config show`: every setting that is in force and where its value came from.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_config_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
