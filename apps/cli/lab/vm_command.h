// `heddle lab vm`: runs a command in a virtual machine that has RDMA devices.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/program.h"

namespace heddle::cli {

void add_lab_vm_command(CLI::App& lab, Invocation& invocation);

}  // namespace heddle::cli
