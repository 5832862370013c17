// `heddle run`: starts the ranks of a run on this machine, or on the hosts of a lab.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_run_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
