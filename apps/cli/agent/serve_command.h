// `heddle agent serve`: samples this machine as a daemon.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_agent_serve_command(CLI::App& agent, Invocation& invocation);

}  // namespace heddle::cli
