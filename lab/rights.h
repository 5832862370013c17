// Rights: whether this process may create network namespaces. Without root, it can move into a user
// namespace in which it may.
#pragma once

#include "base/result.h"

namespace heddle::lab {

// Succeeds if this process may make a lab that other processes can join. Errors: kPermission, which
// names `heddle lab run` if that works without root.
Result<void> need_root();

// Succeeds if this process may make a lab for itself and its children; without root it moves into
// new namespaces, with an empty /run. Errors: kPermission if the host allows neither.
Result<void> get_rights();

}  // namespace heddle::lab
