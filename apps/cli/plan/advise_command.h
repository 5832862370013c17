// `heddle plan advise`: which change of a recorded job gains most.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_advise_command(CLI::App& plan, Invocation& invocation);

}  // namespace heddle::cli
