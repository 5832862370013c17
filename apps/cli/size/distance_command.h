// `heddle size distance`: the goodput of RDMA writes over a long cable.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_size_distance_command(CLI::App& group, Invocation& invocation);

}  // namespace heddle::cli
