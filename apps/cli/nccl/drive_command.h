// `heddle nccl drive`: plays NCCL's part over a net plugin, without a GPU.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_nccl_drive_command(CLI::App& group, Invocation& invocation);

}  // namespace heddle::cli
