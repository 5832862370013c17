// `heddle agent`: what heddle starts on other machines. No user types it.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_agent_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
