// `heddle plan`: which entropies the flows of a workload should take, so that links are loaded
// evenly.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_plan_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
