// `heddle record import`: what NCCL Inspector or PyTorch's Flight Recorder kept becomes a
// recording.
#pragma once

#include "apps/cli/program.h"

namespace heddle::cli {

void add_import_command(CLI::App& record, Invocation& invocation);

}  // namespace heddle::cli
