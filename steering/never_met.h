// Conditions of rules that no fault meets: a class that never has one of the rule's places, or
// whose verdicts are never as sure as the rule asks for. `heddle monitor` warns of them.
#pragma once

#include <string>
#include <vector>

#include "steering/policy.h"

namespace heddle::steering {

// A sentence each. Of a rule that names no class (it has all that policies have by default), a
// class that has none of its places is none of them, unless the rule has no other.
std::vector<std::string> never_met(const Policy& policy);

}  // namespace heddle::steering
