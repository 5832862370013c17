// Options of commands that ask what changes of a recorded job gain: its recording, its fabric, and
// the transport that it had.
#pragma once

#include <CLI/App.hpp>

#include "apps/cli/plan/advise/recorded.h"
#include "apps/cli/plan/advise/step_simulation.h"

namespace heddle::cli {

// RECORDING..., --topology, --rate, --hosts and --calls-per-step.
void add_advise_sources(CLI::App& command, AdviseSources& sources);

// --cc, --selector and --paths.
void add_step_transport(CLI::App& command, StepTransport& transport);

}  // namespace heddle::cli
