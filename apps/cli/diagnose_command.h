// `heddle diagnose`: verdicts on a recorded job: who hangs or is slow.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_diagnose_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
