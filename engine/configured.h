// Options of an endpoint as the configuration says; the keys are declared in base/config_keys.cc.
#pragma once

#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "engine/options.h"

namespace heddle::engine {

// Everything but the port: who listens decides on it.
NetworkOptions configured_network(const Config& config);
// Errors: kInvalid for a name of congestion control or path selector that does not exist; those of
// read_key_file() for a key file that cannot be used.
Result<Options> configured_options(const Config& config);
// The keys in the key file; none where no file is set. For Endpoint::set_keys() when it changed.
Result<std::vector<transport::ClusterKey>> configured_keys(const Config& config);

}  // namespace heddle::engine
