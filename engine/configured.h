// Options of an endpoint as the configuration says; the keys are declared in base/config_keys.cc.
#pragma once

#include "base/config.h"
#include "base/result.h"
#include "engine/options.h"

namespace heddle::engine {

// Everything but the port: who listens decides on it.
NetworkOptions configured_network(const Config& config);
// Errors: kInvalid for a name of congestion control or path selector that does not exist.
Result<Options> configured_options(const Config& config);

}  // namespace heddle::engine
