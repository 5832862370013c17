// Routes: for every switch and NIC, the ports on a shortest path over the links that are up, as in
// a fabric whose routing protocol has converged.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/layout.h"

namespace heddle::lab {

// The ports (indexes into Layout::ports) towards each NIC, for every place: [place][nic]. Empty for
// hosts, whose routes do not depend on the fabric, and for unreachable NICs.
using NextHops = std::vector<std::vector<std::vector<uint32_t>>>;

// `up[link]`: whether routes may use the link.
NextHops next_hops(const Layout& layout, const std::vector<bool>& up);

}  // namespace heddle::lab
