// What an endpoint threw away, for the JSON documents of commands.
#pragma once

#include "apps/cli/json.h"
#include "transport/statistics.h"

namespace heddle::cli {

// Every reason (see docs/reference/events.md) with its count, in the order of the schema.
Json drops_of(const transport::Statistics& statistics);

}  // namespace heddle::cli
