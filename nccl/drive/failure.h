// Failure of a drive: the first rank that fails or is stopped publishes why, and the others report
// that in place of what follows from it.
#pragma once

#include <optional>

#include "base/result.h"
#include "nccl/exchange.h"

namespace heddle::nccl {

// Publishes the failure of this rank; kCancelled is published as a stop. Returns what the rank is
// to report: this error, or that of the rank that published one before.
Error publish_failure(Exchange& exchange, int rank, const Error& error);

// The failure that another rank has published, as "rank 1 failed: ...". Errors: the exchange's.
Result<std::optional<Error>> read_failure(Exchange& exchange);

}  // namespace heddle::nccl
