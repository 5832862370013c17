// Rights: whether this process may make network namespaces; where it is not root, a user namespace
// of its own in which it may.
#pragma once

#include "base/result.h"

namespace heddle::lab {

// Returns when this process may make a lab that others can join. Errors: kPermission, naming
// `heddle lab run` where that works without root.
Result<void> need_root();

// Returns when this process may make a lab for itself and its children; without root it moves into
// namespaces of its own, with an empty /run. Errors: kPermission where the host allows neither.
Result<void> get_rights();

}  // namespace heddle::lab
