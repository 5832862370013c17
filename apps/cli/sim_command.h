// `heddle sim`: runs a workload over a simulated fabric with the production transport.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_sim_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
