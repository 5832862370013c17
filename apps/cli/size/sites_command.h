// `heddle size sites`: a training job on the surplus power of several sites.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_size_sites_command(CLI::App& group, Invocation& invocation);

}  // namespace heddle::cli
