// What all process groups of this process share: the driven endpoint, opened for the first of them
// and closed with the last.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "collectives/driven_endpoint.h"

namespace heddle::pytorch {

std::string heddle_version();

// Errors: those of the configuration (HEDDLE_*, heddle.toml) and of opening an endpoint.
Result<std::shared_ptr<collectives::DrivenEndpoint>> shared_endpoint();

}  // namespace heddle::pytorch
