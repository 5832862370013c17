// Constants of judgement of all datapaths: unit, source, reasonable range. Those of one datapath
// are in the params.h of its folder.
#pragma once

#include <cstddef>

namespace heddle::datapath::params {

// Runs of datagrams, and events of remote writes, that one receive() returns (datapath.h). Chosen:
// two full calls of UDP (udp_params::kMaxFrames). Range: 16 to 256.
inline constexpr size_t kMaxRuns = 64;
// Connections of other processes of this host that wait to be accepted (unix_socket/, listen(2)).
// Chosen: above the ranks of a host. Range: 16 to 4,096, the default of net.core.somaxconn.
inline constexpr int kWaitingConnections = 128;

}  // namespace heddle::datapath::params
