// `heddle nccl`: commands about NCCL's plugins, one file each in apps/cli/nccl/.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_nccl_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
