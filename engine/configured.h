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

// How the one number `stranger_bytes` is divided. What a server of tests keeps for its clients, or
// a store for its visitors, is not the endpoint's, and the other way round.
inline constexpr uint64_t kStrangerParts = 16;
inline constexpr uint64_t kEndpointParts = 8;        // an endpoint of a program's own
inline constexpr uint64_t kStoreParts = 4;           // the endpoint of a rendezvous, beside that
inline constexpr uint64_t kServerEndpointParts = 6;  // that of `perf` or `ping --listen`
inline constexpr uint64_t kServerTestParts = 10;     // and all tests of its clients
Bytes stranger_share(const Config& config, uint64_t parts);
// Whether `peers` without a key can connect to an endpoint that has so many parts. Errors:
// kExhausted, with the least `stranger_bytes` for them.
Result<void> check_stranger_bytes(const Options& options, uint64_t parts, uint32_t peers);
// The keys in the key file; none where no file is set. For Endpoint::set_keys() when it changed.
Result<std::vector<transport::ClusterKey>> configured_keys(const Config& config);

}  // namespace heddle::engine
