// `heddle record gather`: the parts of a recording that several hosts made become one folder.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_gather_command(CLI::App& record, Invocation& invocation);

}  // namespace heddle::cli
