// `heddle stragglers`: what the slowest operations of a pipelined training job cost it.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_stragglers_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
