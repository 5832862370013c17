// `heddle verify`: an acceptance test of a fabric, from "cables are in" to a report.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_verify_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
