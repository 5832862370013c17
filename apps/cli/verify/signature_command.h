// `heddle verify check-signature`: whether a report is as a key's owner signed it.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_signature_command(CLI::App& verify, Invocation& invocation);

}  // namespace heddle::cli
