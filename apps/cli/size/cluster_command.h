// `heddle size cluster`: how much network a training job needs.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_size_cluster_command(CLI::App& group, Invocation& invocation);

}  // namespace heddle::cli
