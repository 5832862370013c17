// `heddle workload`: workload files made of recorded jobs.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_workload_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
