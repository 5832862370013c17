// Endpoint options from the configuration. base/config_keys.cc declares the keys.
#pragma once

#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "engine/options.h"

namespace heddle::engine {

// All network options except the port, which the caller chooses.
NetworkOptions configured_network(const Config& config);
// Errors: kInvalid for an unknown congestion control or path selector; those of read_key_file().
Result<Options> configured_options(const Config& config);

// Shares of `stranger_bytes`, in sixteenths. Memory that a test server keeps for its clients, or a
// store for its clients, is separate from its endpoint's.
inline constexpr uint64_t kStrangerParts = 16;
inline constexpr uint64_t kEndpointParts = 8;  // a program's endpoint
inline constexpr uint64_t kStoreParts = 4;  // a rendezvous endpoint, in addition to the program's
inline constexpr uint64_t kServerEndpointParts = 6;  // the endpoint of `perf` or `ping --listen`
inline constexpr uint64_t kServerTestParts = 10;     // all tests of that server's clients
Bytes stranger_share(const Config& config, uint64_t parts);
// Checks that an endpoint with `parts` sixteenths can accept `peers` connections without a key.
// Errors: kExhausted; the message names the smallest `stranger_bytes` that suffices.
Result<void> check_stranger_bytes(const Options& options, uint64_t parts, uint32_t peers);
// The keys in the key file; empty where no file is set. Pass them to Endpoint::set_keys() after the
// file changed.
Result<std::vector<transport::ClusterKey>> configured_keys(const Config& config);

}  // namespace heddle::engine
