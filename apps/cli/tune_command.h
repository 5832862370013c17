// `heddle tune`: measures every algorithm of every collective between the ranks that a launcher
// started, and stores the table by which later runs of these ranks choose.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_tune_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
