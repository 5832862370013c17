// `heddle perf`: how fast messages move to a host (bw) and how long one takes (lat), in qperf's
// terms.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_perf_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
