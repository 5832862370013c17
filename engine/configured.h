// Endpoint options from the configuration. base/config_keys.cc declares the keys.
#pragma once

#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "engine/options.h"
#include "engine/params.h"

namespace heddle::engine {

// All network options except the port, which the caller chooses.
NetworkOptions configured_network(const Config& config);
// Errors: kInvalid for an unknown congestion control or path selector; those of read_key_file().
Result<Options> configured_options(const Config& config);

// Shares of `stranger_bytes`, in sixteenths.
inline constexpr uint64_t kStrangerParts = 16;
using params::kEndpointParts;
using params::kServerEndpointParts;
using params::kServerTestParts;
using params::kStoreParts;
Bytes stranger_share(const Config& config, uint64_t parts);
// Checks that an endpoint with `parts` sixteenths can accept `peers` connections without a key.
// Errors: kExhausted; the message names the smallest `stranger_bytes` that suffices.
Result<void> check_stranger_bytes(const Options& options, uint64_t parts, uint32_t peers);
// The keys in the key file; empty where no file is set. Pass them to Endpoint::set_keys() after the
// file changed.
Result<std::vector<transport::ClusterKey>> configured_keys(const Config& config);

}  // namespace heddle::engine
