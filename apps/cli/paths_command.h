// `heddle paths`: how many routes the fabric has to a host, and which paths take which.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_paths_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
