// `heddle size headroom`: the buffer that PFC needs behind its threshold.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_size_headroom_command(CLI::App& group, Invocation& invocation);

}  // namespace heddle::cli
