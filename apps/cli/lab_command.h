// `heddle lab`: real fabrics on this machine.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_lab_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
