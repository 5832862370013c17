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

// The range for verdicts of this class and place; empty if no rule makes such a verdict.
std::optional<ConfidenceRange> confidence_range(VerdictClass verdict, PlaceKind place);

}  // namespace heddle::insight
