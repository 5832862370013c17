// The number of an algorithm in events. Collectives and events number algorithms alike, except the
// two-level ring: in events its number follows those of NCCL's algorithms.
#pragma once

#include "collectives/collective.h"
#include "events/events.h"

namespace heddle::collectives {

constexpr events::Algorithm name_in_events(Algorithm algorithm) {
  if (algorithm == Algorithm::kTwoLevel) return events::Algorithm::kTwoLevel;
  return static_cast<events::Algorithm>(algorithm);
}

}  // namespace heddle::collectives
