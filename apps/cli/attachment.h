// Attachment: opens the endpoint of a command from the configuration, and prints warnings about it.
#pragma once

#include <memory>

#include "base/config.h"
#include "base/result.h"
#include "engine/endpoint.h"

namespace heddle::cli {

// For a client: any free port. Errors: those of Endpoint::open, and unknown names in the
// configuration.
Result<std::unique_ptr<engine::Endpoint>> attach_client(const Config& config);
// For a server: the configured port. Errors likewise.
Result<std::unique_ptr<engine::Endpoint>> attach_server(const Config& config);
// For a rank: any free port, at which it accepts the others. Errors likewise.
Result<std::unique_ptr<engine::Endpoint>> attach_rank(const Config& config);

}  // namespace heddle::cli
