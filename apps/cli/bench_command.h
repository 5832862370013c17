// `heddle bench`: measures collectives between the ranks of a run, with the options and the table
// of nccl-tests.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_bench_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
