// `heddle record export`: writes a recording into a database.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_export_command(CLI::App& record, Invocation& invocation);

}  // namespace heddle::cli
