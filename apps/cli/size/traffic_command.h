// `heddle size traffic`: the bytes that a GPU sends in a training step.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_size_traffic_command(CLI::App& group, Invocation& invocation);

}  // namespace heddle::cli
