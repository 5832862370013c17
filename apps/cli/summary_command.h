// `heddle summary`: one page on what a recorded job's communication came to.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_summary_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
