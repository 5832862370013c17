// `heddle size capture`: sizes of packets and messages in a capture of RoCEv2 or heddle.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_size_capture_command(CLI::App& group, Invocation& invocation);

}  // namespace heddle::cli
