// `heddle matrix`: who sent how much to whom, from a recording.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_matrix_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
