// Attachment: opens the endpoint of a command from the configuration, and prints warnings about it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "engine/endpoint.h"

namespace heddle::cli {

// For a client: any free port. Errors: those of Endpoint::open, and unknown names in the
// configuration.
Result<std::unique_ptr<engine::Endpoint>> attach_client(const Config& config);
// The same with keys of its own instead of the configured ones.
Result<std::unique_ptr<engine::Endpoint>> attach_client(
    const Config& config, const std::vector<transport::ClusterKey>& keys);
// For a server: the configured port. Errors likewise.
Result<std::unique_ptr<engine::Endpoint>> attach_server(const Config& config);
// The same at another port; 0: any free one.
Result<std::unique_ptr<engine::Endpoint>> attach_server(const Config& config, uint16_t port);
// For a rank: any free port, at which it accepts the others; `sink` may be null, or outlives the
// endpoint. Errors likewise.
Result<std::unique_ptr<engine::Endpoint>> attach_rank(const Config& config,
                                                      events::Sink* sink = nullptr);

}  // namespace heddle::cli
