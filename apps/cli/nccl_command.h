// `heddle nccl`: the commands around NCCL over heddle; each is in a file of apps/cli/nccl/.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_nccl_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
