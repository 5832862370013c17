// `heddle relay`: forwards sessions between sites.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_relay_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
