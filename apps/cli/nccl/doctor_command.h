// `heddle nccl doctor`: checks this machine for NCCL over heddle.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_nccl_doctor_command(CLI::App& nccl, Invocation& invocation);

}  // namespace heddle::cli
