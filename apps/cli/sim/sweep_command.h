// `heddle sim sweep`: many simulations that differ in their options, on all cores, resumable, and
// in shares for array tasks.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_sweep_command(CLI::App& sim, Invocation& invocation);

}  // namespace heddle::cli
