// Options of ranks' endpoints and communicators as the configuration says; the keys are declared in
// base/config_keys.cc.
#pragma once

#include "base/config.h"
#include "base/result.h"
#include "collectives/communicator.h"
#include "engine/options.h"

namespace heddle::collectives {

// For an endpoint on which communicators run: it accepts connections, and takes silent ranks for
// dead after `rank_dead_after_ms`. Errors: those of engine::configured_options().
Result<engine::Options> configured_rank_options(const Config& config);

// Errors: kInvalid for an `algorithm` that does not exist.
Result<CommunicatorOptions> configured_communicator_options(const Config& config);

}  // namespace heddle::collectives
