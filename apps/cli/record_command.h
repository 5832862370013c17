// `heddle record`: runs a command with recording on; `info` and `dump` say what was recorded.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_record_command(CLI::App& root, Invocation& invocation);

}  // namespace heddle::cli
