// `heddle workload run`: a workload with real packets, over the production's transport and
// collectives.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_replay_command(CLI::App& workload, Invocation& invocation);

}  // namespace heddle::cli
