// `heddle size`: how much network a job needs, in closed form.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_size_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
