// `heddle ranks`: the ranks that a launcher started find each other and print their hosts.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_ranks_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
