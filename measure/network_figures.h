// Network figures: what the measurements of `heddle perf` say about the network as a whole, for
// `--save` and the NCCL tuner. A pure function.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "measure/measurement.h"
#include "nccl/measured_network.h"

namespace heddle::measure {

// Goodput of the fastest complete `bw` test and the median one-way latency of the smallest messages
// of `lat`. `nics`: of this host; with several the goodput of one connection is left out, since
// NCCL's connections use one each. Errors: kInvalid, where a test is missing or was cut short, and
// for figures that no network has.
Result<nccl::MeasuredNetwork> network_figures(std::span<const Measurement> measurements,
                                              size_t nics);

}  // namespace heddle::measure
