// `heddle resize`: how many ranks an elastic run has.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_resize_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
