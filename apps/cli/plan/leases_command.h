// `heddle plan leases`: which jobs hold leases of a store.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_leases_command(CLI::App& plan, Invocation& invocation);

}  // namespace heddle::cli
