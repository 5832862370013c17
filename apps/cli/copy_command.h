// `heddle copy`: files and folders to another host over heddle's transport.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_copy_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
