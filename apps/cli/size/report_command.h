// `heddle size report`: whether to change the network of a recorded job, on one page.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_size_report_command(CLI::App& group, Invocation& invocation);

}  // namespace heddle::cli
