// `heddle monitor`: watches a job that is recorded, and reports its faults as they begin and end.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_monitor_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
