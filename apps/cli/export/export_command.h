// `heddle record export`: a recording goes into a database that many may ask.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_export_command(CLI::App& record, Invocation& invocation);

}  // namespace heddle::cli
