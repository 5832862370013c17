// `heddle key`: creates key files, and lists the keys of one.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_key_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
