// Under which number events have an algorithm: those of collectives, but for what came after NCCL's
// had been numbered behind them.
#pragma once

#include "collectives/collective.h"
#include "events/events.h"

namespace heddle::collectives {

constexpr events::Algorithm name_in_events(Algorithm algorithm) {
  if (algorithm == Algorithm::kTwoLevel) return events::Algorithm::kTwoLevel;
  return static_cast<events::Algorithm>(algorithm);
}

}  // namespace heddle::collectives
