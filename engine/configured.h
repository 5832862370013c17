// Options of an endpoint as the configuration says; the keys are declared in base/config_keys.cc.
#pragma once

#include "base/config.h"
#include "engine/options.h"

namespace heddle::engine {

// Everything but the port: who listens decides on it.
NetworkOptions configured_network(const Config& config);
Options configured_options(const Config& config);

}  // namespace heddle::engine
