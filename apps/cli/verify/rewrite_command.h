// `heddle verify report`: writes the page of an earlier report again, in another language.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_rewrite_command(CLI::App& verify, Invocation& invocation);

}  // namespace heddle::cli
