// How sure verdicts can be: by class and kind of place, what the rules of insight/diagnosis/ give.
// Policies are compared with it, since a rule that asks for more never acts.
#pragma once

#include <optional>

#include "insight/diagnosis.h"

namespace heddle::insight {

struct ConfidenceRange {
  double least = 0;
  double most = 0;
};

// Of verdicts of that class at such a place; nothing if no rule makes one.
std::optional<ConfidenceRange> confidence_range(VerdictClass verdict, PlaceKind place);

}  // namespace heddle::insight
