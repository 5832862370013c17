// The options of one of several engines of an endpoint: its share of what the endpoint may use.
#pragma once

#include "engine/options.h"
#include "transport/engine_share.h"

namespace heddle::engine {

// Of a single engine: `options`. Of several: each is driven by a thread, whatever `drive` says, and
// has an equal share of the memory that is laid out when it starts: records of bursts in flight,
// and places for eager messages. All other limits are of all engines together
// (options.transport.budget).
Options engine_options(const Options& options, const transport::EngineShare& share);

}  // namespace heddle::engine
