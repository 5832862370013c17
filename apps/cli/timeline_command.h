// `heddle timeline`: what every rank of a recorded job did and when.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_timeline_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
