// What the process groups of this process share: the driven endpoint, opened for the first of those
// that were made under the same HEDDLE_* variables, and closed with the last of them.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "collectives/driven_endpoint.h"

namespace heddle::pytorch {

std::string heddle_version();

// That of the HEDDLE_* variables as they are now: a group that is made after one of them was
// changed has another one, but for HEDDLE_LOG, which is the process's. Errors: those of the
// configuration (HEDDLE_*, heddle.toml, which is read when an endpoint is opened) and of opening an
// endpoint.
Result<std::shared_ptr<collectives::DrivenEndpoint>> shared_endpoint();

}  // namespace heddle::pytorch
