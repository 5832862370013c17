// `heddle plan lease`: runs a job with a plan beside those of all jobs that run now.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_lease_command(CLI::App& plan, Invocation& invocation);

}  // namespace heddle::cli
