// `heddle size workload`: what a job of a workload sends in a step, and the rate that this needs.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_size_workload_command(CLI::App& group, Invocation& invocation);

}  // namespace heddle::cli
