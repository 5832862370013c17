// `heddle doctor`: checks this machine for a network that heddle can use.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_doctor_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
