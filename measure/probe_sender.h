// Probe sender: sends the probes of a host's NICs, and collects what routers answer: hop by hop for
// each source port. `heddle agent` runs it, beside probe_receiver.h on every host.
#pragma once

#include "base/result.h"
#include "probing/observations.h"
#include "probing/tasks.h"

namespace heddle::measure {

// What was sent and which routers answered, by flow. Errors: those of ProbePorts; kCancelled where
// a signal came.
Result<probing::Observations> send_probes(const probing::SendSpec& spec);

}  // namespace heddle::measure
