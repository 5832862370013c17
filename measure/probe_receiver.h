// Probe receiver: counts the probes that arrive at a host's NICs, and answers traces. Beside each
// run of probe_sender.h one runs on every host.
#pragma once

#include <functional>

#include "base/result.h"
#include "probing/observations.h"
#include "probing/tasks.h"

namespace heddle::measure {

// Receives at those NICs of the round whose addresses this host has, until `ended` says
// so. `ready` is called once all receive. What arrived, by flow. Errors: those of
// ProbePorts; kUnavailable if this host has none of the addresses; kTimeout if the round lasts
// longer than its bound: then later probes would count as lost.
Result<probing::Observations> receive_probes(const probing::RoundSpec& spec,
                                             const std::function<void()>& ready,
                                             const std::function<bool()>& ended);

}  // namespace heddle::measure
