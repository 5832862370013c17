// `heddle workload import` and `export`: workload files from other tools' descriptions, and Chakra
// traces of a workload's job.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_workload_import_command(CLI::App& workload, Invocation& invocation);
void add_workload_export_command(CLI::App& workload, Invocation& invocation);

}  // namespace heddle::cli
