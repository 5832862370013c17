// `heddle matrix`: the bytes between each pair of ranks, from a recording.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_matrix_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
