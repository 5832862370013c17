// Constants of judgement of `heddle monitor`'s deliveries and of its outputs to a site: unit,
// source, range. Those of watching a job are in monitor/params.h.
#pragma once

#include <cstddef>

#include "base/nanos.h"

namespace heddle::cli::params::monitor {

// --- plans for agents (plan_delivery.cc, planned_file.cc) ---

// Between two looks at the plan's file. Chosen. Range: 50 ms to 1 s.
inline constexpr Nanos kLookEvery = millis(200);
// Deliveries at a time: each is a login with a process here. Chosen. Range: 16 to 256.
inline constexpr size_t kMostAtOnce = 64;
// And their bytes: each holds the plan some three times meanwhile, as text and as an order. Chosen.
// Range: 16 to 256 MiB.
inline constexpr size_t kMostBytesAtOnce = size_t{64} << 20;
// Bytes of a plan that is served: as JSON in an order to an agent it must stay below 32 MiB. Range:
// 1 to 15 MiB.
inline constexpr size_t kMostServedBytes = size_t{15} << 20;
// Values in values of a plan. Chosen: it has a few levels; copies and dumps of a document take
// stack with each. Range: 8 to 256.
inline constexpr int kMostDepth = 16;

// --- what is published and stored (site_output.cc) ---

// At the end, what waits is sent within the first, and once the user has interrupted that within
// the second. Chosen. Range: 1 to 60 s; 0.2 to 5 s.
inline constexpr Nanos kFinishWithin = seconds(5);
inline constexpr Nanos kInterruptedWithin = seconds(1);
// Between two warnings of what was dropped. Chosen. Range: 1 s to 10 min.
inline constexpr Nanos kWarnEvery = seconds(10);
// Between two looks at the end. Chosen. Range: 1 to 100 ms.
inline constexpr Nanos kMoment = millis(10);

}  // namespace heddle::cli::params::monitor
