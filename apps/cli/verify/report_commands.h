// `heddle verify diff` and `heddle verify baseline`: what earlier reports say of a fabric.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_report_commands(CLI::App& verify, Invocation& invocation);

}  // namespace heddle::cli
