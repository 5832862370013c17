// Routes: for every switch and every NIC the ports that begin a shortest way, over the links that
// are up. Like a fabric whose routing protocol has settled.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/layout.h"

namespace heddle::lab {

// The ports (indices into Layout::ports) towards each NIC, for every place: [place][nic]. Empty
// for hosts, whose routes do not depend on the fabric, and where there is no way.
using NextHops = std::vector<std::vector<std::vector<uint32_t>>>;

// `up[link]`: whether packets are routed over it.
NextHops next_hops(const Layout& layout, const std::vector<bool>& up);

}  // namespace heddle::lab
