// A [[rule]] of a policy file, with what it may not say. The reader of policies calls it.
#pragma once

#include <vector>

#include "base/table.h"
#include "steering/policy.h"

namespace heddle::steering {

// Errors are kept by the table.
Rule read_rule(TableReader& table);

// Of a rule that names none.
std::vector<insight::VerdictClass> default_classes();

}  // namespace heddle::steering
