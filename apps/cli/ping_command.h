// `heddle ping`: rounds of a verified message to a host and back, in the look of rping.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_ping_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
