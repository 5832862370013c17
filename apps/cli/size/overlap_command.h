// `heddle size overlap`: communication of gradients beside the backward pass.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_size_overlap_command(CLI::App& group, Invocation& invocation);

}  // namespace heddle::cli
