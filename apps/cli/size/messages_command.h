// `heddle size messages`: the units into which gradients are cut, from buckets to packets.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_size_messages_command(CLI::App& group, Invocation& invocation);

}  // namespace heddle::cli
