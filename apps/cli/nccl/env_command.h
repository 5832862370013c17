// `heddle nccl env`: prints the variables with which NCCL uses heddle on this machine.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_nccl_env_command(CLI::App& nccl, Invocation& invocation);

}  // namespace heddle::cli
