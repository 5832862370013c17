// Missing links: a switch has no link to one that its siblings are connected to. The fabric may be
// built so, or its routing has taken a link out of use.
#pragma once

#include "probing/found.h"

namespace heddle::probing {

void find_missing_links(FoundFabric& found);

}  // namespace heddle::probing
