// The tuner's settings: whether it is on, and the network's figures from a file and from settings
// of their own. The tuner reads them once a communicator; `heddle nccl doctor` checks them.
#pragma once

#include <optional>

#include "base/config.h"
#include "base/result.h"
#include "nccl/measured_network.h"

namespace heddle::nccl {

// nccl.network names a file of figures; nccl.net_gbps, nccl.channel_gbps and nccl.net_us override
// its figures. Nothing: nccl.tuner is off. Errors: those of read_network() and validate(), and
// kInvalid for a figure that is no number.
Result<std::optional<MeasuredNetwork>> tuner_network(const Config& config);

}  // namespace heddle::nccl
